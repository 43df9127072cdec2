/* The update phase without windows, as list_kernels.update_lists has it, for a comparison of compilers. */
#include <stdint.h>

typedef struct { int64_t event; int32_t first, last, next, label; } node;

int64_t update(const int32_t *classes, int64_t n, int32_t states, const int32_t *skip, const int32_t *begin,
               const int32_t *marks, const int32_t *finals, int32_t nfinals, const uint8_t *ended,
               const uint64_t *moving, const uint64_t *busy, node *tree, int32_t *ends, int64_t *runs,
               int64_t *roots, int64_t capacity, int32_t *scratch, int64_t *numbers) {
    const int64_t cap = (int64_t)1 << 61;
    int32_t *live = scratch, *live_ = live + states, *first_ = live_ + states, *last_ = first_ + states;
    int32_t *into = last_ + states;
    int64_t *runs_ = numbers, *number = numbers + states;
    int64_t nodes = 1, found = 0;
    int32_t alive = 0;
    uint64_t mask = 0;
    for (int32_t q = 0; q < states; q++)
        if (ends[2 * q] >= 0) { live[alive++] = q; mask |= (uint64_t)1 << (q < 63 ? q : 63); }
    for (int64_t i = 0; i < n; i++) {
        int32_t c = classes[i], made = 0;
        if (!(mask & busy[c])) continue;
        if (found + nfinals > capacity) found = 0;
        for (int32_t t = begin[c]; t < begin[c + 1]; t++) {
            int32_t p = marks[3 * t];
            if (ends[2 * p] < 0) continue;
            tree[nodes++] = (node){i, ends[2 * p], ends[2 * p + 1], -1, marks[3 * t + 1]};
            into[made] = marks[3 * t + 2];
            number[made++] = runs[p];
        }
        if (mask & moving[c]) {
            int32_t count = 0;
            mask = 0;
            for (int32_t a = 0; a < alive; a++) {
                int32_t p = live[a];
                first_[p] = ends[2 * p]; last_[p] = ends[2 * p + 1]; runs_[p] = runs[p];
                ends[2 * p] = -1;
            }
            for (int32_t a = 0; a < alive; a++) {
                int32_t p = live[a], q = skip[(int64_t)c * states + p];
                if (q < 0) continue;
                if (ends[2 * q] < 0) {
                    ends[2 * q] = first_[p]; ends[2 * q + 1] = last_[p]; runs[q] = runs_[p];
                    if (!ended[q]) { live_[count++] = q; mask |= (uint64_t)1 << (q < 63 ? q : 63); }
                } else {
                    tree[ends[2 * q + 1]].next = first_[p];
                    ends[2 * q + 1] = last_[p];
                    runs[q] = runs[q] + runs_[p] < cap ? runs[q] + runs_[p] : cap;
                }
            }
            int32_t *other = live; live = live_; live_ = other;
            alive = count;
        }
        for (int32_t m = 0; m < made; m++) {
            int32_t q = into[m], k = (int32_t)(nodes - made + m);
            if (ends[2 * q] < 0) {
                ends[2 * q] = k; ends[2 * q + 1] = k; runs[q] = number[m];
                if (!ended[q]) { live[alive++] = q; mask |= (uint64_t)1 << (q < 63 ? q : 63); }
            } else {
                tree[ends[2 * q + 1]].next = k;
                ends[2 * q + 1] = k;
                runs[q] = runs[q] + number[m] < cap ? runs[q] + number[m] : cap;
            }
        }
        for (int32_t f = 0; f < nfinals; f++) {
            int32_t q = finals[f];
            if (ends[2 * q] < 0) continue;
            int64_t *root = roots + 4 * found++;
            root[0] = i; root[1] = ends[2 * q]; root[2] = ends[2 * q + 1]; root[3] = runs[q];
            if (ended[q]) { ends[2 * q] = -1; runs[q] = 0; }
        }
    }
    return nodes;
}
