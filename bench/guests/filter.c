/* filter: f32 arithmetic: a signal goes through three second-order filters and is clipped, as in audio work. */
#include "benchmark.h"

const struct benchmark benchmark = {"filter", 320, 0x460c1cabe9fe1968};

enum { SAMPLES = 60000, STAGES = 3 };

struct stage {
    float b0, b1, b2, a1, a2, z1, z2;
};

static float samples[SAMPLES];

static float filter_sample(struct stage *stage, float in)
{
    float out = in * stage->b0 + stage->z1;
    stage->z1 = in * stage->b1 + stage->z2 - stage->a1 * out;
    stage->z2 = in * stage->b2 - stage->a2 * out;
    return out;
}

uint64_t benchmark_run(void)
{
    struct stage stages[STAGES] = {
        {0.20657f, 0.41314f, 0.20657f, -0.36953f, 0.19582f, 0, 0},
        {0.80498f, -1.60996f, 0.80498f, -1.56102f, 0.65890f, 0, 0},
        {1.05f, -1.8f, 0.85f, -1.8f, 0.9f, 0, 0},
    };
    uint32_t noise = 1;
    for (int i = 0; i < SAMPLES; i++) {
        noise = noise * 1664525u + 1013904223u;
        samples[i] = (float)(int32_t)noise * (1.0f / 2147483648.0f);
    }
    for (int i = 0; i < SAMPLES; i++) {
        float sample = samples[i];
        for (int stage = 0; stage < STAGES; stage++)
            sample = filter_sample(&stages[stage], sample);
        samples[i] = sample > 1 ? 1 : sample < -1 ? -1 : sample;
    }
    uint64_t sum = 1;
    for (int i = 0; i < SAMPLES; i++)
        sum = checksum_f64(sum, samples[i]);
    return sum;
}
