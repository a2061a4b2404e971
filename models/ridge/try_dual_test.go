package ridge

import "testing"

// The dual problem of rows is used only for a λ with which the matrix of all features is positive definite.
func TestDualProblemRequiresPositiveLambda(t *testing.T) {
	for least, want := range map[float64]bool{1e-8: true, 0: false, 1e-20: false} {
		s := draw(Shape{Dim: 1100, Outputs: 1}, 40, 2, 3)
		o := s.options(least, 1e-3)
		o.From.Rows = s.rows(s.all())
		if got := opened(t, o).dual != nil; got != want {
			t.Errorf("with λ %g: %v, want %v", least, got, want)
		}
	}
}
