/* The update phase without windows, as list_kernels.update_lists has it, for a comparison of compilers. */
#include <stdbool.h>
#include <stdint.h>

enum { BLOCK = 1024, CALM = 16, LASTING = 32, MOST_CALM = 1 << 20 };
static const int64_t cap = (int64_t)1 << 61;

typedef struct { int32_t source, target, flip, keep, final, label, hold; } operation;
typedef struct { int32_t children, label, target; int64_t number; } made;
typedef struct { int32_t *position, *child, *next; } nodes_of;
typedef struct { int64_t position, reference, number; } root;

static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static inline uint64_t bit(int32_t q) { return (uint64_t)1 << (q < 63 ? q : 63); }

static inline void node(nodes_of tree, int64_t n, int64_t position, int32_t child, int32_t next) {
    tree.position[n] = (int32_t)position; tree.child[n] = child; tree.next[n] = next;
}

static int32_t joined(int32_t l, int32_t r, nodes_of tree, int64_t *nodes) {
    int32_t flag = l < 0 || r < 0 ? -1 : 0;
    if (l < 0) l = ~l;
    if (r < 0) r = ~r;
    if (!l || !r) return (l | r) ^ flag;
    if (tree.next[r] < 0) { int32_t x = l; l = r; r = x; }
    if (tree.next[r] < 0) {
        node(tree, *nodes, 0, l, tree.next[r]);
        l = (int32_t)(*nodes)++; r = tree.child[r];
    }
    node(tree, *nodes, 0, r, ~l);
    return (int32_t)(*nodes)++ ^ flag;
}

static bool replaced(const int32_t *skip, int32_t states, const uint8_t *ended, const int32_t *refs, operation *o,
                     int32_t n) {
    for (int32_t p = 0; p < states; p++) {
        if (!refs[p] || ended[p] || skip[p] == p) continue;
        int32_t x = 0;
        while (x < n && o[x].target != p) x++;
        if (x == n || skip[p] >= 0) return false;
        o[x].hold = 0;
    }
    return true;
}

static void plan(uint64_t mask, const int32_t *skip, int32_t states, int32_t classes, const int32_t *begin,
                 const int32_t *marks, const int32_t *finals, int32_t nfinals, const uint8_t *ended,
                 const uint64_t *moving, const uint64_t *busy, const int32_t *refs, int32_t *code, operation *ops) {
    bool silent = true;
    for (int32_t f = 0; f < nfinals; f++) silent = silent && !refs[finals[f]];
    for (int32_t c = 0; c < classes; c++) {
        operation *o = ops + 2 * c;
        int32_t n = 0;
        bool simple = silent;
        for (int32_t t = begin[c]; t < begin[c + 1]; t++) {
            int32_t p = marks[3 * t], l = marks[3 * t + 1], q = marks[3 * t + 2], x = 0;
            if (!refs[p]) continue;
            bool empty = refs[p] == -1;
            simple = simple && refs[p] >= -1 && (ended[q] || refs[q] > 0);
            for (; x < n && x < 2; x++)
                if (o[x].target == q && o[x].label == l && !o[x].flip && (empty || refs[o[x].source] == -1)) {
                    if (!empty) o[x].source = p;
                    o[x].flip = -1;
                    break;
                }
            if (x < n && x < 2) continue;
            if (n < 2) o[n] = (operation){p, q, 0, 0, 0, l, -1};
            n++;
        }
        if (n == 2 && o[0].target == o[1].source) {
            operation x = o[0]; o[0] = o[1]; o[1] = x;
            simple = simple && o[0].target != o[1].source;
        }
        for (int32_t x = 0; x < 2; x++) { o[x].final = ended[o[x].target]; o[x].keep = o[x].final - 1; o[x].hold = -1; }
        if (mask & moving[c])
            simple = simple && replaced(skip + (int64_t)c * states, states, ended, refs, o, n < 2 ? n : 2);
        code[c] = !(mask & busy[c]) ? 0 : simple && n <= 2 ? n : -1;
    }
}

int64_t update(const int32_t *classes, int64_t n, int32_t states, int32_t nclasses, const int32_t *skip,
               const int32_t *begin, const int32_t *marks, const int32_t *finals, int32_t nfinals, const uint8_t *ended,
               const uint64_t *moving, const uint64_t *busy, int32_t *tree_, int64_t size, int32_t *refs, int64_t *runs,
               root *roots, int64_t capacity, int32_t *live, int32_t *had, int64_t *ran, made *new, int32_t *code,
               operation *ops, int64_t *operations) {
    nodes_of tree = {tree_, tree_ + size, tree_ + 2 * size};
    int64_t nodes = 1, found = 0, i = 0, since = 0, calm = CALM;
    int32_t alive = 0;
    uint64_t mask = 0;
    bool planned = false;
    for (int32_t q = 0; q < states; q++)
        if (refs[q]) { live[alive++] = q; mask |= bit(q); }
    while (i < n) {
        if (found + nfinals > capacity || found + 2 * BLOCK > capacity) found = 0;
        if (planned) {
            int64_t end = least(i + BLOCK, n), number = 0;
            for (; i < end; i++) {
                int32_t c = classes[i];
                if (c < 0 || code[c] < 0) break;
                operations[number] = i << 32 | 2 * c;
                operations[number + 1] = i << 32 | (2 * c + 1);
                number += code[c];
            }
            for (int64_t x = 0; x < number; x++) {
                int64_t at = operations[x] >> 32;
                operation o = ops[operations[x] & 0xFFFFFFFF];
                int64_t more = runs[o.source] - o.flip;
                node(tree, nodes, at, refs[o.source] ^ o.flip, refs[o.target] & o.hold);
                roots[found] = (root){at, nodes, least(more, cap)};
                found += o.final;
                refs[o.target] = (int32_t)nodes++ & o.keep;
                runs[o.target] = least((runs[o.target] & o.hold) + more, cap) & o.keep;
            }
            if (i == end) continue;
        }
        int32_t c = classes[i], count = 0;
        if (!(mask & busy[c])) { i++; continue; }
        bool changed = false;
        for (int32_t t = begin[c]; t < begin[c + 1]; t++) {
            int32_t ref = refs[marks[3 * t]], l = marks[3 * t + 1], q = marks[3 * t + 2], at = count;
            if (!ref) continue;
            for (int32_t m = 0; m < count; m++) {
                int32_t other = new[m].children;
                if (new[m].target == q && new[m].label == l && ((ref == -1 && other > 0) || (other == -1 && ref > 0)))
                    at = m;
            }
            int64_t number = runs[marks[3 * t]];
            if (at < count) {
                new[at].children = ~(ref > new[at].children ? ref : new[at].children);
                new[at].number = least(new[at].number + number, cap);
            } else new[count++] = (made){ref, l, q, number};
        }
        if (mask & moving[c]) {
            int32_t arrived = 0;
            mask = 0;
            changed = true;
            for (int32_t a = 0; a < alive; a++) {
                int32_t p = live[a];
                had[p] = refs[p]; ran[p] = runs[p]; refs[p] = 0; runs[p] = 0;
            }
            for (int32_t a = 0; a < alive; a++) {
                int32_t p = live[a], q = skip[(int64_t)c * states + p];
                if (q < 0) continue;
                if (!refs[q]) {
                    refs[q] = had[p]; runs[q] = ran[p];
                    if (!ended[q]) { live[arrived++] = q; mask |= bit(q); }
                } else {
                    refs[q] = joined(refs[q], had[p], tree, &nodes);
                    runs[q] = least(runs[q] + ran[p], cap);
                }
            }
            alive = arrived;
        }
        for (int32_t m = 0; m < count; m++) {
            int32_t q = new[m].target;
            if (!refs[q] && !ended[q]) { live[alive++] = q; mask |= bit(q); changed = true; }
            int32_t flag = refs[q] < 0 ? -1 : 0;
            node(tree, nodes, i, new[m].children, refs[q] ^ flag);
            refs[q] = (int32_t)nodes++ ^ flag;
            runs[q] = least(runs[q] + new[m].number, cap);
        }
        for (int32_t f = 0; f < nfinals; f++) {
            int32_t q = finals[f];
            if (!refs[q]) continue;
            roots[found++] = (root){i, refs[q], runs[q]};
            if (ended[q]) { refs[q] = 0; runs[q] = 0; }
        }
        i++;
        if (changed) {
            if (planned) calm = i - since > LASTING * calm ? CALM : least(2 * calm, MOST_CALM);
            planned = false;
            since = i;
        } else if (!planned && i - since >= calm) {
            plan(mask, skip, states, nclasses, begin, marks, finals, nfinals, ended, moving, busy, refs, code, ops);
            planned = true;
            since = i;
        }
    }
    return nodes;
}
