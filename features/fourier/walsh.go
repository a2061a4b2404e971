package fourier

// walsh multiplies each of the n rows of d numbers by the Hadamard matrix.
func walsh(x []float32, n, d int) {
	for i := range n {
		row := x[i*d : (i+1)*d]
		for h := 1; h < d; h *= 2 {
			for i := 0; i < d; i += 2 * h {
				a, b := row[i:i+h], row[i+h:][:h]
				for j, v := range a {
					a[j], b[j] = v+b[j], v-b[j]
				}
			}
		}
	}
}
