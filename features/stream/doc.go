// Package stream is the source of every random number of a model. A Stream depends only on a seed, a
// purpose and an index. Frequency 7 does not depend on the frequencies before it, so workers can draw in
// any order and agree.
//
// The outputs of a stream never change and have the same bits on every platform. The
// following is enough to implement it in another language.
//
// # Words
//
// The generator is Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel
// random numbers: as easy as 1, 2, 3", SC 2011), which maps a key of two and a
// counter of four 32-bit words to four 32-bit words. Ten times, with the key
// (k0, k1) raised by (0x9E3779B9, 0xBB67AE85) between rounds,
//
//	(c0, c1, c2, c3) ← (hi(M1·c2) ⊕ c1 ⊕ k0, lo(M1·c2), hi(M0·c0) ⊕ c3 ⊕ k1, lo(M0·c0))
//
// with M0 = 0xD2511F53, M1 = 0xCD9E8D57 and hi, lo the halves of the 64-bit
// product. All additions are modulo 2³². A stream uses
//
//	k0 = low half of the seed            c0 = number of the block: 0, 1, 2, …
//	k1 = high half of the seed           c1 = purpose
//	                                     c2 = low half of the index
//	                                     c3 = high half of the index
//
// where the purpose is the 32-bit FNV-1a hash of its name in UTF-8. Block b of
// the output, (x0, x1, x2, x3), gives the 64-bit words 2b = x0 + 2³²·x1 and
// 2b+1 = x2 + 2³²·x3.
//
// # Numbers
//
// All arithmetic below is IEEE 754 double precision, rounded to nearest after
// every single operation (no fused multiply-add), evaluated as the parentheses
// and the usual precedence say, equal precedence from the left. Each number
// uses one word, plus more after a rejection.
//
//   - Uniform: u = ((w >> 12) + ½)·2⁻⁵², which is exact. So 2⁻⁵³ ≤ u ≤ 1−2⁻⁵³,
//     symmetric about ½ and never ½ itself. Let q = u − ½, also exact.
//   - Normal: the inverse of the normal distribution function, algorithm AS 241,
//     routine PPND16 (Wichura, Applied Statistics 37, 1988). Its polynomials are
//     evaluated by Horner's rule from the highest power. If |q| ≤ 0.425,
//     z = (A(r)·q)/B(r) with r = 0.180625 − q·q; else with r = √(−log min(u, 1−u)),
//     z = C(r−1.6)/D(r−1.6) if r ≤ 5, E(r−5)/F(r−5) beyond, with the sign of q.
//     |z| ≤ 8.21.
//   - Cauchy: tan(πq). With a = |q|, and t = a if a ≤ ¼, else ½ − a (exact):
//     y = T(π·t), T the rational function of Cephes' tan on [0, π/4],
//     T(x) = x + x·(P(x·x)·(x·x)/Q(x·x)); the result is y or 1/y, with the sign of q. Magnitude ≤ 2.9·10¹⁵.
//   - Laplace: −log(1 − 2|q|) with the sign of q. 1 − 2|q| is exact. Magnitude ≤ 36.1.
//   - Gamma of shape a ≥ ½ (Marsaglia and Tsang, ACM TOMS 26, 2000, without the
//     squeeze): d = a − 1/3, c = 1/√(9·d). Repeat: draw a normal x and a uniform u;
//     y = 1 + c·x; if y > 0, v = y·y·y and log u < ½·x·x + (d − d·v + d·log v),
//     the result is d·v.
//   - Below(n), an integer in [0, n): the high half of the 128-bit product w·n,
//     unless its low half is less than 2⁶⁴ mod n, which takes the next word
//     (Lemire, ACM TOMACS 29, 2019).
//
// log is fdlibm's e_log.c in the form of [math.Log]'s portable code,
// reimplemented here because Go's own uses assembly on some platforms and may
// fuse on others.
package stream
