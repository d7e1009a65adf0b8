/* nbody: f64 arithmetic on memory, with division and square root: the planets' orbits. */
#include "benchmark.h"

#include <math.h>

const struct benchmark benchmark = {"nbody", 110, 0x245b2f819efdbb69};

enum { BODIES = 5, STEPS = 12000 };

struct body {
    double x, y, z, vx, vy, vz, mass;
};

/* Sun, Jupiter, Saturn, Uranus, Neptune: astronomical units, years, and 4 π² solar masses. */
static const struct body start[BODIES] = {
    {0, 0, 0, 0, 0, 0, 39.47841760435743},
    {4.84143144246472090, -1.16032004402742839, -0.103622044471123109, 0.606326392995832, 2.81198684491626,
     -0.02521836165988763, 0.03769367487038949},
    {8.34336671824457987, 4.12479856412430479, -0.403523417114321381, -1.0107743461787924, 1.8256623712304119,
     0.008415761376584154, 0.011286326131968767},
    {12.8943695621391310, -15.1111514016986312, -0.223307578892655734, 1.0827910064415354, 0.8687130181696082,
     -0.010832637401363636, 0.0017237240570597112},
    {15.3796971148509165, -25.9193146099879641, 0.179258772950371181, 0.979090732243898, 0.5946989986476762,
     -0.034755955504078104, 0.0020336868699246304},
};

static struct body bodies[BODIES];

static void advance(double years)
{
    for (int i = 0; i < BODIES; i++) {
        struct body *a = &bodies[i];
        for (int j = i + 1; j < BODIES; j++) {
            struct body *b = &bodies[j];
            double dx = a->x - b->x, dy = a->y - b->y, dz = a->z - b->z;
            double squared = dx * dx + dy * dy + dz * dz;
            double pull = years / (squared * sqrt(squared));
            a->vx -= dx * b->mass * pull;
            a->vy -= dy * b->mass * pull;
            a->vz -= dz * b->mass * pull;
            b->vx += dx * a->mass * pull;
            b->vy += dy * a->mass * pull;
            b->vz += dz * a->mass * pull;
        }
    }
    for (int i = 0; i < BODIES; i++) {
        struct body *a = &bodies[i];
        a->x += years * a->vx;
        a->y += years * a->vy;
        a->z += years * a->vz;
    }
}

uint64_t benchmark_run(void)
{
    memcpy(bodies, start, sizeof bodies);
    for (int i = 0; i < STEPS; i++)
        advance(0.01);
    uint64_t sum = 1;
    for (int i = 0; i < BODIES; i++)
        sum = checksum_f64(checksum_f64(checksum_f64(sum, bodies[i].x), bodies[i].y), bodies[i].z);
    return sum;
}
