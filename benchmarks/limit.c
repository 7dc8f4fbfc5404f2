/* What this machine sustains on one core: multiply-adds from a table that stays where it fits, and bytes read.
   Compiled and called by benchmarks/limit.py. */
#include <stddef.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

/* Seconds of `repeats` sums of products of two arrays of `n` floats: 2 n operations and 8 n bytes each. */
double products(const float *restrict a, const float *restrict b, size_t n, int repeats, float *out) {
    double began = now();
    for (int r = 0; r < repeats; r++) {
        float sums[64] = {0};
        for (size_t i = 0; i + 64 <= n; i += 64)
            for (int k = 0; k < 64; k++) sums[k] += a[i + k] * b[i + k];
        for (int k = 0; k < 64; k++) *out += sums[k];
        __asm__ volatile("" ::: "memory");
    }
    return now() - began;
}

/* Seconds of `repeats` rounds of 64 chains of multiply-adds in registers: 128 operations each. */
double chains(int repeats, float *out) {
    float x[64];
    for (int k = 0; k < 64; k++) x[k] = 1.0f + k;
    double began = now();
    for (int r = 0; r < repeats; r++)
        for (int k = 0; k < 64; k++) x[k] = x[k] * 0.999f + 0.001f;
    double took = now() - began;
    for (int k = 0; k < 64; k++) *out += x[k];
    return took;
}
