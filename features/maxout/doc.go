// Package maxout provides random maxout features (Mroueh, Rennie & Goel, "Random
// maxout features", 2015): the maximum of q random projections of a row, for each
// of m units,
//
//	φ(x) = (h_1(x), …, h_m(x))/√m,   h_ℓ(x) = max_{j<q} ⟨w_ℓj, x⟩,   w_ℓj ~ N(0, I).
//
// Functions that are linear in φ are piecewise linear in x.
//
// # The kernel and Theorem 1
//
// E[φ(x)·φ(z)] = ‖x‖·‖z‖·K_q(ρ), ρ the cosine of the angle between x and z. Theorem 1 of the
// paper states σ²(q)·ρ·κ_q(ρ), κ_q the probability that the maximum is at the
// same index for both rows. Its proof says that where the indices differ the product
// of the two maxima has mean zero, "since the gaussians are independent". But a
// projection is not centred once it is known to be the greatest of its unit: at ρ = 0
// the maxima are independent, and the mean of their product is h_1²(q), the square of their mean. Instead
//
//	K_q(ρ) = h_1²(q) + ∫₀^ρ κ_q
//
// which agrees with the theorem for q = 1 and at ρ = 1 only:
//
//	 q  ρ =          −1     −½       0      ½     0.9      1
//	 2  K_q      0.0000  0.1090  0.3183  0.6090  0.9095  1.0000
//	    paper    0.0000 −0.1667  0.0000  0.3333  0.7708  1.0000
//	    κ_q      0.0000  0.3333  0.5000  0.6667  0.8564  1.0000
//	 4  K_q      0.9549  0.9749  1.0596  1.2339  1.4681  1.5513
//	    paper    0.0000 −0.0744  0.0000  0.3569  1.0476  1.5513
//	    κ_q      0.0000  0.0960  0.2500  0.4601  0.7503  1.0000
//	 8  K_q      1.9898  1.9930  2.0266  2.1342  2.3221  2.3995
//	    paper    0.0000 −0.0283  0.0000  0.3917  1.4437  2.3995
//	    κ_q      0.0000  0.0235  0.1250  0.3265  0.6685  1.0000
//	16  K_q      3.1049  3.1054  3.1187  3.1869  3.3410  3.4137
//	    paper    0.0000 −0.0084  0.0000  0.4042  1.8529  3.4137
//	    κ_q      0.0000  0.0050  0.0625  0.2368  0.6031  1.0000
//
// Most of the kernel is the constant h_1²(q), especially for large q: features have the
// mean h_1(q)·‖x‖/√m. If all rows have the same length, a learner's intercept absorbs the constant; the rest
// is local, because its slope is κ_q. Kernel returns the true kernel, not the theorem's.
//
// # Draws
//
// The draw is part of every model, so it is fixed to the last bit. Element i of projection p is
// float32 of the i-th normal number of the stream (seed, "maxout/projection", p); see package
// stream. Unit ℓ has the projections ℓ·q … ℓ·q+q−1 or, with a pool of P, a random choice among projections
// 0 … P−1: its j-th projection (j from 0) is number r, counted from 0 in increasing order, of those not yet
// chosen, with r = Below(P−j) of the stream (seed, "maxout/unit", ℓ).
//
// A shared pool costs P projections instead of m·q. The projections of one unit are always distinct, so the
// estimate of the kernel has the same mean. But units that share a pool depend on each other, and its
// variance is about as large as with P/q units that share nothing.
package maxout
