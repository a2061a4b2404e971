// Package agop computes the average gradient outer product of a ridge model on paired Fourier features,
//
//	M = (1/n) Σ_i Σ_k ∇f_k(x_i) ∇f_k(x_i)ᵀ,
//
// from the sums that the model was fitted to, without another pass over the rows. From M it makes the metric of the
// next kernel (recursive feature machines: Radhakrishnan, Beaglehole, Pandit and Belkin, "Mechanism for feature
// learning in neural networks and backpropagation-free machine learning models", Science 383, 2024). The metric
// stretches the directions in which the prediction changes and shrinks the others. WavesOf returns the frequencies of
// a recipe, Waves.Outer or Waves.Diagonal returns M, and Root.Full or Root.Diagonal the metric.
//
// # From the Gram matrix
//
// With cosines c_ij and sines s_ij of row i and frequency ω_j, scaled like the features, and their weights
// a_jk and b_jk,
//
//	∇f_k(x_i) = Σ_j (b_jk c_ij − a_jk s_ij) ω_j
//	M = (1/n) Ωᵀ P Ω,   P_jl = α_jl Σ_i s_ij s_il + β_jl Σ_i c_ij c_il − γ_jl Σ_i s_ij c_il − γ_lj Σ_i c_ij s_il
//	α_jl = Σ_k a_jk a_lk,   β_jl = Σ_k b_jk b_lk,   γ_jl = Σ_k a_jk b_lk
//
// The sums over rows are blocks of the Gram matrix Σφφᵀ, which a ridge.Sum holds. It takes m²(4K + d)
// operations for m frequencies, K outputs and rows of d numbers. The offset form lacks the sines.
//
// All sums run in a fixed order with every product rounded, so equal sums and weights give equal bytes
// for every number of threads and on every processor.
package agop
