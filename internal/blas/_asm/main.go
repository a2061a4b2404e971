// Command _asm writes the assembly of package blas for AVX-512 and AVX2:
//
//	go run . -out ../kernels_amd64.s -stubs ../kernels_amd64.go -pkg blas
//
// A function has the name of its entry in the table of instruction sets (isa.go of the package),
// followed by the instruction set. Vectors may be unaligned. Callers check slices. Counts are positive
// unless a comment says otherwise.
package main

import (
	"fmt"
	"math"
	"strings"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func main() {
	ConstraintExpr("amd64,!purego")
	for _, m := range []machine{avx512, avx2} {
		for vecs := 1; vecs <= 3; vecs++ {
			if m.bytes == 32 && vecs > 1 {
				break
			}
			mulTile(m, m.mulRows, vecs)
			mulTile(m, 1, vecs)
		}
		for _, stream := range []bool{false, true} {
			cosines(m, false, stream)
			cosines(m, true, stream)
		}
		cosineBytes(m, false)
		cosineBytes(m, true)
		quantize(m)
		split(m)
		exp(m)
		for _, f := range []real{float64s, float32s} {
			subtractTile(m, f)
			solve(m, f)
			factor(m, f)
		}
		dot(m)
		axpy(m)
		thin(m)
		for _, n := range []int{2, 4, 8} {
			butterflies(m, n)
		}
		hadamardBlocks(m)
		affine(m)
		slide(m)
	}
	gramVNNI()
	columnSums()
	for _, vex := range []bool{true, false} {
		m := machine{name: "AVXVNNI", bytes: 32}
		if !vex {
			m.name = "EVEX"
		}
		gramBytes(m, vex)
		turnBytes(m, vex)
	}
	gramWords()
	expandWords()
	classes()
	targets(1)
	targets(4)
	floats()
	differences("squares", func(v reg.VecPhysical) { VMULPD(v, v, v) })
	differences("absolutes", func(v reg.VecPhysical) { VANDPD(y[15], v, v) })
	dots(1)
	dots(4)
	transpose(float64s)
	transpose(float32s)
	Generate()
}

// machine is a width of vectors.
type machine struct {
	name     string
	bytes    int // of a vector
	mulRows  int // rows of a tile of mul
	tileRows int // rows and vectors of a tile of the subtracted product
	tileVecs int
}

var (
	avx512 = machine{name: "AVX512", bytes: 64, mulRows: 8, tileRows: 8, tileVecs: 3}
	avx2   = machine{name: "AVX2", bytes: 32, mulRows: 6, tileRows: 4, tileVecs: 3}
)

// v returns vector register i.
func (m machine) v(i int) reg.VecPhysical {
	if m.bytes == 64 {
		return z[i]
	}
	return y[i]
}

// halves returns the number of vectors that hold 16 float32.
func (m machine) halves() int { return 64 / m.bytes }

var (
	z = []reg.VecPhysical{
		reg.Z0, reg.Z1, reg.Z2, reg.Z3, reg.Z4, reg.Z5, reg.Z6, reg.Z7, reg.Z8, reg.Z9, reg.Z10,
		reg.Z11, reg.Z12, reg.Z13, reg.Z14, reg.Z15, reg.Z16, reg.Z17, reg.Z18, reg.Z19, reg.Z20,
		reg.Z21, reg.Z22, reg.Z23, reg.Z24, reg.Z25, reg.Z26, reg.Z27, reg.Z28, reg.Z29, reg.Z30, reg.Z31,
	}
	y = []reg.VecPhysical{
		reg.Y0, reg.Y1, reg.Y2, reg.Y3, reg.Y4, reg.Y5, reg.Y6, reg.Y7,
		reg.Y8, reg.Y9, reg.Y10, reg.Y11, reg.Y12, reg.Y13, reg.Y14, reg.Y15,
	}
	x = []reg.VecPhysical{
		reg.X0, reg.X1, reg.X2, reg.X3, reg.X4, reg.X5, reg.X6, reg.X7,
		reg.X8, reg.X9, reg.X10, reg.X11, reg.X12, reg.X13, reg.X14, reg.X15,
	}
)

// text begins a function.
func text(m machine, name, signature, doc string) {
	TEXT(name+m.name, NOSPLIT, signature)
	Pragma("noescape")
	Doc(strings.Split(name+m.name+" "+doc, "\n")...)
}

func ret() {
	VZEROUPPER()
	RET()
}

// param loads a parameter; shifted shifts it left as well, which makes bytes of a
// count of elements.
func param(name string) reg.GPVirtual {
	r := GP64()
	Load(Param(name), r)
	return r
}

func shifted(name string, by uint64) reg.GPVirtual {
	r := param(name)
	SHLQ(U8(by), r)
	return r
}

func at(base reg.Register, disp int) Mem { return Mem{Base: base, Disp: disp} }

func plus(base, index reg.Register, disp int) Mem {
	return Mem{Base: base, Index: index, Scale: 1, Disp: disp}
}

// loop runs body until count, which it uses up by step, is zero. Only with
// maybeNone may count be zero at first.
func loop(label string, count reg.Register, step int, maybeNone bool, body func()) {
	if maybeNone {
		TESTQ(count, count)
		JZ(LabelRef(label + "_done"))
	}
	Label(label)
	body()
	if step == 1 {
		DECQ(count)
	} else {
		add(-step, count)
	}
	JNZ(LabelRef(label))
	if maybeNone {
		Label(label + "_done")
	}
}

// add adds n bytes to r, and sets the flags.
func add(n int, r reg.Register) {
	if n < 0 {
		SUBQ(U32(uint32(-n)), r)
	} else {
		ADDQ(U32(uint32(n)), r)
	}
}

var constants = map[string]Mem{}

// words returns memory with the given 32-bit words.
func words(name string, w ...uint32) Mem {
	if m, ok := constants[name]; ok {
		return m
	}
	m := GLOBL(name, RODATA|NOPTR)
	for i, v := range w {
		DATA(4*i, U32(v))
	}
	constants[name] = m
	return m
}

// doubles returns memory with a float64.
func doubles(name string, v float64) Mem {
	b := math.Float64bits(v)
	return words(name, uint32(b), uint32(b>>32))
}

// rowOf returns the address of row i of a tile, from pointers to row 0 and to the middle row,
// the stride s and three times the stride.
func rowOf(i, half int, low, high, s, s3 reg.Register, disp int) Mem {
	base := low
	if i >= half {
		base, i = high, i-half
	}
	switch i {
	case 0:
		return at(base, disp)
	case 1:
		return plus(base, s, disp)
	case 2:
		return Mem{Base: base, Index: s, Scale: 2, Disp: disp}
	case 3:
		return plus(base, s3, disp)
	}
	panic(fmt.Sprint("row ", i))
}
