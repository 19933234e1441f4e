"""Loops over queries for the losses and the metric of ranking.

Documents of a query follow each other, those of the highest label first; sorted by score they are
in one order up to documents of the same score and label, so nothing depends on the order of rows.

Notation
--------
q         query; its documents are start[q] to start[q + 1]
i, j      documents of a query by falling score, then by falling label
s         score of a document
gain      2^label - 1
D         discount of a rank, 1 / log2(2 + rank), and D_sum[r], the sum of those before rank r
a, b      first rank of the documents of one score, and the first after them
k         truncation: pairs with a document among the first k count
e         exp(sigma (s - largest s of the query))
*_out     filled in place; gradient_out gets the *negative* gradient
"""

import math

import numpy as np
from numba import njit

FARTHEST = 600.0  # scores farther below the best than this, times sigma, count as this far
NEAREST = 0.01  # added to the distance of two scores that a normalised pair is divided by


@njit(cache=True, nogil=True)
def ends_of_ties(s, end_out):
    """For each document by falling score, the first place after those of the same score."""
    end = s.shape[0]
    for i in range(s.shape[0] - 1, -1, -1):
        if i + 1 < s.shape[0] and s[i + 1] != s[i]:
            end = i + 1
        end_out[i] = end


@njit(cache=True, nogil=True, error_model="numpy")
def tie_discounts(a, b, k, D_sum):
    """Means over all orders of the documents at ranks a to b.

    Of the discount where the rank is below k, the share of ranks below k, the discount, and the
    difference of the discounts of two of the documents, 0 where neither is below k.
    """
    last, n = min(b, k), b - a
    share, first = 0.0, 0.0
    if last > a:
        share, first = (last - a) / n, (D_sum[last] - D_sum[a]) / n
    within = 0.0
    for rank in range(a, min(last, b - 1)):
        own = D_sum[rank + 1] - D_sum[rank]
        within += (b - 1 - rank) * own - (D_sum[b] - D_sum[rank + 1])
    if n > 1:
        within *= 2.0 / (n * (n - 1.0))
    return first, share, (D_sum[b] - D_sum[a]) / n, within


@njit(cache=True, nogil=True, error_model="numpy")
def discounts_of_documents(s, k, D_sum, end, table):
    """Fill the four means of `tie_discounts` for each document; returns how many are in pairs."""
    n, a, n_first = s.shape[0], 0, 0
    while a < n:
        b = end[a]
        first, share, mean, within = tie_discounts(a, b, k, D_sum)
        for i in range(a, b):
            table[0, i], table[1, i], table[2, i], table[3, i] = first, share, mean, within
        if a < k:
            n_first = b
        a = b
    return n_first


@njit(cache=True, nogil=True, error_model="numpy")
def pair_terms(one, s, gain, e, mean, n_tied, is_pairwise, normalised, t, c):
    """Gradients t and curvatures c of the pairs of one document with those below it.

    one: its score, gain and e, and its means of `tie_discounts`. The others: those of the documents
    below, of which the first n_tied have the same score.
    """
    own_s, own_gain, own_e, first, share, within = one
    for j in range(s.shape[0]):
        delta = own_gain - gain[j]
        weight = within if j < n_tied else first - share * mean[j]
        if is_pairwise:
            delta = 1.0 if delta > 0.0 else (-1.0 if delta < 0.0 else 0.0)
            weight = 1.0
        if normalised:
            weight /= NEAREST + (own_s - s[j])
        both = own_e + e[j]
        p, q = own_e / both, e[j] / both  # that the one, or the other, is better
        t[j] = delta * weight * (q if delta > 0.0 else p)
        c[j] = abs(delta) * weight * p * q


@njit(cache=True, nogil=True, error_model="numpy")
def sum_pairs(n_first, s, gain, e, end, table, is_pairwise, normalised, room, g, h):
    """Add the pairs of the first documents with all below them; returns the sum of their sizes."""
    n, total = s.shape[0], 0.0
    for i in range(n_first):
        one = (s[i], gain[i], e[i], table[0, i], table[1, i], table[3, i])
        m, b = n - i - 1, i + 1
        t, c, g_below, h_below = room[0, :m], room[1, :m], g[b:], h[b:]
        others = (s[b:], gain[b:], e[b:], table[2, b:n])
        pair_terms(one, *others, end[i] - b, is_pairwise, normalised, t, c)
        g_i, h_i = g[i], h[i]
        for j in range(m):  # in this order, so that documents of one score and label agree
            g_i += t[j]
            h_i += c[j]
            total += abs(t[j])
        for j in range(m):
            g_below[j] -= t[j]
            h_below[j] += c[j]
        g[i], h[i] = g_i, h_i
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def pair_gradients(queries, raw, best, D_sum, k, sigma, kind, first, last, outs):
    """Gradients of LambdaRank, or of RankNet, for the queries from first to last.

    queries: start, order (rows), gain by document. best: the best DCG at k of each query. kind:
    whether it is RankNet, and whether pairs of LambdaRank are divided by the distance of their
    scores and a query is scaled by log2(1 + m) / m, m the sum of its lambdas.
    """
    start, order, gain = queries
    is_pairwise, normalised = kind
    gradient_out, hessian_out = outs
    longest = np.max(start[first + 1 : last + 1] - start[first:last])
    end, table, room = np.empty(longest, np.int64), np.empty((4, longest)), np.empty((2, longest))
    for q in range(first, last):
        rows = order[start[q] : start[q + 1]]
        n, scores = rows.shape[0], raw[rows]
        by_score = np.argsort(-scores, kind="mergesort")
        s, its_gain = scores[by_score], gain[start[q] : start[q + 1]][by_score]
        g, h = np.zeros(n), np.zeros(n)
        scale = sigma if is_pairwise else (sigma / best[q] if best[q] > 0.0 else 0.0)
        if scale > 0.0:
            ends_of_ties(s, end[:n])
            n_first = n if is_pairwise else discounts_of_documents(s, k, D_sum, end, table)
            e = np.exp(np.maximum(sigma * (s - s[0]), -FARTHEST))
            apart = normalised and s[0] != s[n - 1]
            total = sum_pairs(n_first, s, its_gain, e, end, table, is_pairwise, apart, room, g, h)
            if normalised and total > 0.0:
                total *= 2.0 * scale
                scale *= math.log2(1.0 + total) / total
        for i in range(n):
            row = rows[by_score[i]]
            gradient_out[row] = scale * g[i]
            hessian_out[row] = sigma * scale * h[i]


@njit(cache=True, nogil=True, error_model="numpy")
def listwise_gradients(queries, raw, sample, first, last, outs):
    """Gradients of the cross entropy of each query: p the softmax of scores, against sampled gains.

    queries: start, order (rows), gain by document. sample: a number in [0, 1) for each row.
    """
    start, order, gain = queries
    gradient_out, hessian_out = outs
    for q in range(first, last):
        top, total, total_gain = -np.inf, 0.0, 0.0
        for i in range(start[q], start[q + 1]):
            top = max(top, raw[order[i]])
        for i in range(start[q], start[q + 1]):
            total += math.exp(raw[order[i]] - top)
            total_gain += gain[i] + 1.0 - sample[order[i]]
        for i in range(start[q], start[q + 1]):
            row = order[i]
            p = math.exp(raw[row] - top) / total
            gradient_out[row] = (gain[i] + 1.0 - sample[row]) / total_gain - p
            hessian_out[row] = p * (1.0 - p)


@njit(cache=True, nogil=True, error_model="numpy")
def best_dcg(queries, k, D_sum, best_out):
    """The largest DCG at k of each query: documents are sorted by label."""
    start, _, gain = queries
    for q in range(start.shape[0] - 1):
        total = 0.0
        for rank in range(min(k, start[q + 1] - start[q])):
            total += gain[start[q] + rank] * (D_sum[rank + 1] - D_sum[rank])
        best_out[q] = total


@njit(cache=True, nogil=True, error_model="numpy")
def ndcg_of_queries(queries, raw, best, D_sum, k, value_out):
    """NDCG at k, the mean over all orders of tied documents; 1 where no document is relevant."""
    start, order, gain = queries
    for q in range(best.shape[0]):
        rows = order[start[q] : start[q + 1]]
        by_score = np.argsort(-raw[rows], kind="mergesort")
        total, n, a = 0.0, rows.shape[0], 0
        while a < min(n, k):
            b, gains = a, 0.0
            while b < n and raw[rows[by_score[b]]] == raw[rows[by_score[a]]]:
                gains += gain[start[q] + by_score[b]]
                b += 1
            total += gains / (b - a) * (D_sum[min(b, k)] - D_sum[a])
            a = b
        value_out[q] = total / best[q] if best[q] > 0.0 else 1.0
