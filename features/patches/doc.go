// Package patches provides features of images by a layer of patches: how strongly random patches of the
// training images occur in the cells of a grid. Sample.Fit computes statistics of patches (Layer),
// Layer.Recipe draws filters, and Recipe.New makes the map.
//
// Each patch p of Patch×Patch pixels, one pixel apart, is normalised for contrast,
//
//	p̂ = (p − mean p)/√(var p + Floor),
//
// and compared with K filters, r_k = ⟨f_k, p̂⟩ + b_k. A filter is made from a patch d of a training
// image, whitened like p̂: r_k = ⟨W(d̂ − μ)/‖W(d̂ − μ)‖, W(p̂ − μ)⟩/s, where W = (C + εI)^−½ for the
// mean μ and the covariance C of normalised patches (ZCA), and s makes the mean square of all r 1. So
// f_k and b_k contain mean and whitening, and a layer is a single product of matrices. Features are the
// means of the positive and of the negative parts beyond a threshold θ,
//
//	φ = (1/√K)·mean over the patches p of a cell of max(0, ±r_k(p) − θ),
//
// in Cells×Cells cells (Coates and Ng, "The importance of encoding versus training with sparse
// coding and vector quantization", ICML 2011; Thiry, Arbel, Belilovsky and Oyallon, "The unreasonable
// effectiveness of patches in deep convolutional kernels methods", ICLR 2021).
//
// As a compositional kernel (package skeleton), the inner product of features is an estimate of
//
//	K(x, z) = Σ_cells mean over p in x, q in z of κ(p̂, q̂),
//	κ(p̂, q̂) = E_d[max(0, r_d(p̂) − θ)·max(0, r_d(q̂) − θ) + max(0, −r_d(p̂) − θ)·max(0, −r_d(q̂) − θ)]
//
// over patches d of the data: a convolutional layer whose conjugate activation is taken over patches
// instead of normal vectors, followed by the identity, averaged over each cell.
package patches
