/* A function that is always inlined: its lines stay those of this file. */
__attribute__((always_inline)) static inline unsigned mix(unsigned value)
{
    value ^= value << 13; /* MIX-BEGIN */
    value ^= value >> 17;
    value ^= value << 5;
    return value; /* MIX-END */
}
