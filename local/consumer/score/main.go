// Command score shows how a Go program uses a model with the public packages: it reads a
// model directory and prints the class of the row of numbers in its arguments.
//
//	score MODEL 0.5 -1.25
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/bochner-ml/bochner/models"
)

func main() {
	class, err := run(context.Background(), os.Args[1], os.Args[2:])
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(class)
}

func run(ctx context.Context, dir string, numbers []string) (class string, err error) {
	m, err := models.LoadURI(ctx, dir)
	if err != nil {
		return "", err
	}
	in, out := m.Map.Dims()
	if len(numbers) != in {
		return "", fmt.Errorf("%d numbers, and the model takes %d", len(numbers), in)
	}
	x, phi := make([]float32, in), make([]float32, out)
	for i, text := range numbers {
		v, err := strconv.ParseFloat(text, 32)
		if err != nil {
			return "", err
		}
		x[i] = float32(v)
	}
	scores, best := make([]float32, m.Linear.K), make([]int32, 1)
	m.Map.Apply(phi, x, 1)
	m.Linear.Scores(scores, phi, 1)
	m.Linear.Classes(best, scores, 1)
	return m.Outputs()[best[0]], nil
}
