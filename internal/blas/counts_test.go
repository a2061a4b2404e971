package blas

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// core is how many instructions a core executes in a cycle: vector instructions, those which only half
// of its vector pipelines execute, and loads of a vector.
type core struct {
	name                string
	vector, half, loads float64
}

// Arm Neoverse N1 and V1 Software Optimization Guides, chapter 3, as LLVM has them in
// AArch64SchedNeoverseN1.td and AArch64SchedNeoverseV1.td; for Apple's M1, D. Johnson,
// dougallj.github.io/applecpu.
var cores = []core{{"N1", 2, 1, 2}, {"V1", 4, 2, 3}, {"M1", 4, 4, 3}}

// counted is what the inner loop of a kernel has.
type counted struct {
	instructions, multiplying, products, loads int
	vector, multiplyHalf, sumHalf              int
}

var (
	// Products of a pair of numbers that an instruction makes.
	products = map[string]int{"sdot": 16, "smmla": 32, "smull": 8, "smlal2": 8, "smlal": 4,
		"VFMADD231PS": 8, "VFMADD231PD": 4, "VFNMADD231PD": 4, "VFNMADD231PS": 8, "VPMADDWD": 16, "VPDPBUSD": 64,
		"{vex}": 32}
	loads = regexp.MustCompile(`^(ldr|ldp|ld1r|ld1|ld4) `)
	pair  = regexp.MustCompile(`^ldp q`)
)

// innerLoop counts the loop of a function that has the most products, or else instructions.
func innerLoop(t *testing.T, text, name string) counted {
	t.Helper()
	_, body, ok := strings.Cut(text, "TEXT ·"+name+"(SB)")
	if !ok {
		t.Fatalf("no function %s", name)
	}
	body, _, _ = strings.Cut(body, "\nTEXT ")
	lines := strings.Split(body, "\n")
	at := map[string]int{}
	var best counted
	for i, line := range lines {
		if label, ok := strings.CutSuffix(line, ":"); ok {
			at[label] = i
		}
		f := strings.Fields(line)
		if len(f) != 2 || f[0][0] != 'B' && f[0][0] != 'J' {
			continue
		}
		from, ok := at[f[1]]
		if !ok { // forward
			continue
		}
		var c counted
		for _, inside := range lines[from+1 : i+1] {
			if strings.HasSuffix(inside, ":") { // not an inner loop
				c = counted{}
				break
			}
			c.add(inside)
		}
		if c.products > best.products || c.products == best.products && c.instructions > best.instructions {
			best = c
		}
	}
	if best.instructions == 0 {
		t.Fatalf("%s has no loop", name)
	}
	return best
}

func (c *counted) add(line string) {
	line = strings.TrimSpace(line)
	if _, gnu, ok := strings.Cut(line, " // "); ok {
		line = gnu
	} else if strings.HasPrefix(line, "// ") {
		c.products += products["{vex}"] // the instruction follows, as a long and a byte
		c.multiplying++
		c.vector++
		return
	} else if line == "" || strings.HasPrefix(line, "BYTE") {
		return
	}
	c.instructions++
	op, operands, _ := strings.Cut(line, " ")
	op, _, _ = strings.Cut(op, ".")
	n := products[op]
	if (op == "fmla" || op == "fmls") && strings.Contains(operands, ".2d") {
		n = 2
	} else if op == "fmla" || op == "fmls" {
		n = 4
	}
	if strings.Contains(operands, "Z") && !strings.HasPrefix(op, "VPDP") {
		n *= 2 // 512 bits
	}
	if n > 0 {
		c.products += n
		c.multiplying++
	}
	switch {
	case loads.MatchString(line):
		c.loads++
		if pair.MatchString(line) {
			c.loads++
		}
	case op == strings.ToUpper(op) && strings.Contains(operands, "(") && !strings.HasPrefix(op, "PREFETCH"):
		c.loads++ // x86: an operand in memory
		if op[0] == 'V' && n > 0 {
			c.vector++
		}
	case op == strings.ToLower(op):
		c.vector++
		switch op {
		case "smull", "smlal", "smlal2", "frintn", "fcvtns", "fcvtms", "scvtf", "fcvtl", "fcvtl2":
			c.multiplyHalf++
			if op == "frintn" || op == "fcvtns" || op == "scvtf" {
				c.multiplyHalf++ // two steps
			}
		case "sadalp", "sli", "shl", "ssra", "sshr", "sxtl", "sxtl2":
			c.sumHalf++
		}
	case op[0] == 'V':
		c.vector++
	}
}

// bound returns the cycles of a core below which a loop cannot be.
func (c counted) bound(on core) float64 {
	half := max(c.multiplyHalf, c.sumHalf)
	return max(float64(c.vector)/on.vector, float64(half)/on.half, float64(c.loads)/on.loads)
}

var kernelsOfArm = []struct {
	name, does string
	elements   int // of a loop that does not compute products
}{
	{"mul6x1NEON", "float32 product, 6×16", 0}, {"mul1x3NEON", "one row, 1×48", 0},
	{"gramDotProd", "Gram by SDOT, 8×12", 0}, {"gramI8MM", "Gram by SMMLA, 8×12", 0},
	{"gramNEON", "Gram by SMULL, 4×4", 0},
	{"tileNEON", "float64 product, 6×8", 0}, {"tile32NEON", "its float32, 6×16", 0},
	{"solveNEON", "triangle, 32 right sides", 0}, {"factorNEON", "factor, 32 rows", 0},
	{"targets4NEON", "ZᵀY, 4 targets", 0}, {"scores3x2NEON", "few outputs, 3×2", 0},
	{"gradient4NEON", "axpy of a batch, 4×16", 0}, {"gradientDouble4NEON", "in float64, 4×8", 0},
	{"dotNEON", "dot", 0}, {"axpyNEON", "axpy", 0},
	{"cosNEON", "cosine", 16}, {"cosSinNEON", "cosine and sine", 16}, {"cosBytesNEON", "cosine to bytes", 16},
	{"cosSinBytesNEON", "both to bytes", 16},
	{"quantizeNEON", "numbers to bytes", 16}, {"slideNEON", "running maximum", 16},
	{"hadamard8NEON", "3 stages of Hadamard", 32}, {"squaresNEON", "distances, 4 rows", 16},
}

// countsTable returns the tables of docs/arm64.md.
func countsTable(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("\n| kernel | what, tile | instructions | multiply | vectors loaded | products | " +
		"a product takes | N1 | V1 | M1 |\n|---|---|---|---|---|---|---|---|---|---|\n")
	text, err := os.ReadFile("kernels_arm64.s")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range kernelsOfArm {
		c := innerLoop(t, string(text), k.name)
		work, unit := c.products, 2.0
		if k.elements > 0 {
			work, unit = k.elements, 1
		}
		fmt.Fprintf(&b, "| `%s` | %s | %d | %d | %d | %d | %.3f |", k.name, k.does, c.instructions, c.multiplying,
			c.loads, work, float64(c.instructions)/float64(work))
		for _, core := range cores {
			if strings.Contains(k.name, "I8MM") && core.name != "V1" {
				b.WriteString(" – |")
				continue
			}
			fmt.Fprintf(&b, " %.3g |", 3*unit*float64(work)/c.bound(core))
		}
		b.WriteString("\n")
	}
	b.WriteString("\n| kernel | what, tile | instructions | multiply | vectors loaded | products | a product takes |\n" +
		"|---|---|---|---|---|---|---|\n")
	if text, err = os.ReadFile("kernels_amd64.s"); err != nil {
		t.Fatal(err)
	}
	for _, k := range kernelsOfX86 {
		c := innerLoop(t, string(text), k[0])
		fmt.Fprintf(&b, "| `%s` | %s | %d | %d | %d | %d | %.3f |\n", k[0], k[1], c.instructions, c.multiplying,
			c.loads, c.products, float64(c.instructions)/float64(c.products))
	}
	b.WriteString("\n")
	return b.String()
}

// docs/arm64.md has the counts of the inner loops; UPDATE_GOLDEN=1 writes them.
func TestInstructionCountsMatchTheDocument(t *testing.T) {
	const page, begin, end = "../../docs/arm64.md", "<!-- counts -->\n", "<!-- end of counts -->"
	old, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(old), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatal("the page has no place for counts")
	}
	now := before + begin + countsTable(t) + end + after
	if now == string(old) {
		return
	}
	if os.Getenv("UPDATE_GOLDEN") == "" {
		t.Fatal("docs/arm64.md has other counts; UPDATE_GOLDEN=1 writes them")
	}
	if err := os.WriteFile(page, []byte(now), 0o666); err != nil {
		t.Fatal(err)
	}
}

var kernelsOfX86 = [][2]string{
	{"mul6x1AVX2", "float32 product, 6×16"}, {"gramAVX2", "Gram on words, 4×16"},
	{"gramAVXVNNI", "Gram by VPDPBUSD, 4×24"},
	{"tileAVX2", "float64 product, 4×12"},
	{"mul8x3AVX512", "float32 product, 8×48"},
	{"gramAVX512", "Gram by VPDPBUSD, 8×48"},
}
