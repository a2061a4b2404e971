// Package svm trains linear classifiers and regressions by dual coordinate ascent over partitions of the rows: CoCoA+
// (Ma, Smith, Jaggi, Jordan, Richtárik and Takáč 2015), with steps of SDCA (Shalev-Shwartz and Zhang 2013).
//
// For each output, with rows φ_i, labels y_i and weights c_i, it minimises
//
//	P(w) = (λ/2)‖w‖² + (1/n) Σ c_i ℓ(y_i, w·φ_i)
//
// by raising, over a dual variable a_i for each row,
//
//	D(a) = −(λ/2)‖w(a)‖² − (1/n) Σ c_i ℓ*(y_i, −a_i),   w(a) = (1/λn) Σ c_i a_i φ_i.
//
// P(w) ≥ D(a) for all w and a, and at the optimum they are equal, so P − D bounds how far
// w is from the optimum. For hinge a_i = y_i α_i with 0 ≤ α_i ≤ 1.
//
// # Rounds
//
// In a round each partition iterates over its blocks of rows, starting from the same w. A step at row i takes the
// score of v = w + σ'Δw, where Δw is the partition's change in this round. It maximises the dual in a_i, with ‖φ_i‖²
// multiplied by σ'. If σ' is the number of partitions, the sum of all Δw is a safe step: D never falls (Ma et al.,
// Lemma 4, γ = 1). Dual variables stay with their partition; only Δw is exchanged.
//
// Few rows matter: most a_i are at an end of their domain and stay there. Rows at which a first step moved are cached
// in a window in memory. Steps are repeated there until they add little, without the rows that have stopped moving
// (like the shrinking of LIBLINEAR; Hsieh, Chang, Lin, Keerthi and Sundararajan 2008, §3.2). The next round visits
// all rows again. The problems of the outputs share only rows, so their steps run in parallel.
//
// # Partitions
//
// A single partition solves the problem itself, in few rounds. Several partitions solve separate problems
// whose solutions disagree, and need many more rounds to agree, at a rate that falls with σ'. So the next
// round starts beyond w, in the direction in which the weights were moving (momentum, Nesterov 1983;
// another form for dual ascent over partitions is by Zheng, Wang, Xia, Xu and Zhang 2017), and returns to
// plain steps when those go back. A row whose a_i would leave its domain is not moved. The share of the
// total step is chosen for each problem so that D does not fall.
//
// Rounds to a gap relative to the objective, for hinge on 10,000 rows of 10 classes with
// 512 Fourier features and λ = 1e-5 (BenchmarkRoundsToAGap):
//
//	partitions    1    2    4      8     16     64
//	1e-1          2    2    4      9     17     43
//	1e-2          3   18   30     65    396  >1000
//	1e-3          5  379  678  >1000  >1000  >1000
//
// From two partitions on, the number grows in proportion to σ', as in the theory of CoCoA+, down to a gap of
// 1e-1, and to 1e-2 for up to 8 partitions; beyond that it grows faster. Use one partition if one machine can
// iterate over the rows in the available time.
//
// # The gap
//
// A round first scores its rows by w̃, the published float32 weights. The gap is a sum of one term per row,
// none of them negative, and a distance:
//
//	P(w̃) − D(a) = (1/n) Σ c_i [ℓ(s_i) + ℓ*(−a_i) + a_i s_i] + (λ/2)‖w̃ − w(a)‖²,   s_i = w̃·φ_i.
//
// Nothing is subtracted, so the gap is accurate however small. w(a) is in float64, and Δw is added in
// float64 from the stored dual variables.
//
// # Intercept
//
// As in LIBLINEAR the intercept is the weight of a constant feature of value Bias, and regularised like the
// others. Without regularisation the dual would have the constraint Σ c_i a_i = 0, which a step in a single
// a_i violates. A larger Bias means less regularisation and slower ascent.
//
// # Verification
//
// The learner "svm.verify" recomputes the certificate of a model from the model and the rows, in a single
// round that shares only the losses with the training.
package svm
