package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// instructions lists the vector instructions of the kernels. Go's assembler does not know
// many of them. An entry has the word with all operands zero, a letter for the place of each
// operand, and the instruction as the GNU assembler writes it, without numbers.
// (Arm Architecture Reference Manual for A-profile, C7.2)
const instructions = `
4e20cc00 dnm  fmla v.4s, v.4s, v.4s
4e60cc00 dnm  fmla v.2d, v.2d, v.2d
4f801000 dnmS fmla v.4s, v.4s, v.s[]
4fc01000 dnmD fmla v.2d, v.2d, v.d[]
4f805000 dnmS fmls v.4s, v.4s, v.s[]
4fc05000 dnmD fmls v.2d, v.2d, v.d[]
6e20dc00 dnm  fmul v.4s, v.4s, v.4s
6e60dc00 dnm  fmul v.2d, v.2d, v.2d
4e20d400 dnm  fadd v.4s, v.4s, v.4s
4e60d400 dnm  fadd v.2d, v.2d, v.2d
4ea0d400 dnm  fsub v.4s, v.4s, v.4s
4ee0d400 dnm  fsub v.2d, v.2d, v.2d
6e20fc00 dnm  fdiv v.4s, v.4s, v.4s
6e60fc00 dnm  fdiv v.2d, v.2d, v.2d
6ee0d400 dnm  fabd v.2d, v.2d, v.2d
4e20f400 dnm  fmax v.4s, v.4s, v.4s
4ea0f400 dnm  fmin v.4s, v.4s, v.4s
6ea0ec00 dnm  facgt v.4s, v.4s, v.4s
6e60e400 dnm  fcmge v.2d, v.2d, v.2d
6e20d400 dnm  faddp v.4s, v.4s, v.4s
6e60d400 dnm  faddp v.2d, v.2d, v.2d
4ea0bc00 dnm  addp v.4s, v.4s, v.4s
4ee08400 dnm  add v.2d, v.2d, v.2d
6ea08400 dnm  sub v.4s, v.4s, v.4s
6ea09400 dnm  mls v.4s, v.4s, v.4s
4e201c00 dnm  and v.16b, v.16b, v.16b
6e201c00 dnm  eor v.16b, v.16b, v.16b
6ea01c00 dnm  bit v.16b, v.16b, v.16b
4e803800 dnm  zip1 v.4s, v.4s, v.4s
4e807800 dnm  zip2 v.4s, v.4s, v.4s
4e802800 dnm  trn1 v.4s, v.4s, v.4s
4e806800 dnm  trn2 v.4s, v.4s, v.4s
4ec02800 dnm  trn1 v.2d, v.2d, v.2d
4ec06800 dnm  trn2 v.2d, v.2d, v.2d
4e80a400 dnm  smmla v.4s, v.16b, v.16b
4f80e000 dnmS sdot v.4s, v.16b, v.4b[]
0e20c000 dnm  smull v.8h, v.8b, v.8b
4e208000 dnm  smlal2 v.8h, v.16b, v.16b
4e606800 dn   sadalp v.4s, v.8h
0f402000 dnmH smlal v.4s, v.4h, v.h[]
4f402000 dnmH smlal2 v.4s, v.8h, v.h[]
4ea01c00 dN   mov v.16b, v.16b
4e218800 dn   frintn v.4s, v.4s
4e619800 dn   frintm v.2d, v.2d
4ea0f800 dn   fabs v.4s, v.4s
4e21a800 dn   fcvtns v.4s, v.4s
4e21b800 dn   fcvtms v.4s, v.4s
4ee1b800 dn   fcvtzs v.2d, v.2d
4e21d800 dn   scvtf v.4s, v.4s
0e617800 dn   fcvtl v.2d, v.2s
4e617800 dn   fcvtl2 v.2d, v.4s
0f10a400 dn   sxtl v.4s, v.4h
4f10a400 dn   sxtl2 v.4s, v.8h
0f08a400 dn   sxtl v.8h, v.8b
4f08a400 dn   sxtl2 v.8h, v.16b
4f205400 dnL  shl v.4s, v.4s, #
4f405400 dnL  shl v.2d, v.2d, #
6f205400 dnL  sli v.4s, v.4s, #
4f400400 dnR  sshr v.4s, v.4s, #
4f401400 dnR  ssra v.4s, v.4s, #
4e040400 dnE  dup v.4s, v.s[]
4e080400 dnF  dup v.2d, v.d[]
4e040c00 dn   dup v.4s, w
4e080c00 dn   dup v.2d, x
5e080400 dnF  mov d, v.d[]
7e30d800 dn   faddp s, v.2s
7e70d800 dn   faddp d, v.2d
4eb1b800 dn   addv s, v.4s
6eb1a800 dn   uminv s, v.4s
1e260000 dn   fmov w, s
1e600800 dnm  fmul d, d, d
1e602800 dnm  fadd d, d, d
1f000000 dnma fmadd s, s, s, s
1e61c000 dn   fsqrt d, d
1e21c000 dn   fsqrt s, s
1e602008 n    fcmp d, #0.0
1e202008 n    fcmp s, #0.0
3dc00000 dnq  ldr q, [x, #]
3d800000 dnq  str q, [x, #]
fd400000 dne  ldr d, [x, #]
bd400000 dnw  ldr s, [x, #]
bd000000 dnw  str s, [x, #]
3cc00400 dnp  ldr q, [x], #
3c800400 dnp  str q, [x], #
fc400400 dnp  ldr d, [x], #
fc000400 dnp  str d, [x], #
bc400400 dnp  ldr s, [x], #
bc000400 dnp  str s, [x], #
fc606800 dnm  ldr d, [x, x]
bc606800 dnm  ldr s, [x, x]
fc206800 dnm  str d, [x, x]
bc206800 dnm  str s, [x, x]
3ce06800 dnm  ldr q, [x, x]
ad400000 dan2 ldp q, q, [x, #]
ad000000 dan2 stp q, q, [x, #]
4d40c800 dn   ld1r {v.4s}, [x]
4d40cc00 dn   ld1r {v.2d}, [x]
0ddf8000 dIn= ld1 {v.s}[], [x], #
4c400800 d+++n ld4 {v.4s, v.4s, v.4s, v.4s}, [x]
4c400000 d+++n ld4 {v.16b, v.16b, v.16b, v.16b}, [x]
4c000800 d+++n st4 {v.4s, v.4s, v.4s, v.4s}, [x]
4c008800 d+n  st2 {v.4s, v.4s}, [x]
`

// places tells how an operand is laid into the word, and its bound.
var places = map[rune]struct {
	most int
	bits func(v int) uint32
}{
	'd': {31, func(v int) uint32 { return uint32(v) }},
	'n': {31, func(v int) uint32 { return uint32(v) << 5 }},
	'a': {31, func(v int) uint32 { return uint32(v) << 10 }},
	'm': {31, func(v int) uint32 { return uint32(v) << 16 }},
	'N': {31, func(v int) uint32 { return uint32(v)<<5 | uint32(v)<<16 }},

	// Elements: by H and L; by H; by H, L and M; of a word and a double word; by Q and S.
	'S': {3, func(v int) uint32 { return uint32(v>>1)<<11 | uint32(v&1)<<21 }},
	'D': {1, func(v int) uint32 { return uint32(v) << 11 }},
	'H': {7, func(v int) uint32 { return uint32(v>>2)<<11 | uint32(v>>1&1)<<21 | uint32(v&1)<<20 }},
	'E': {3, func(v int) uint32 { return uint32(v) << 19 }},
	'F': {1, func(v int) uint32 { return uint32(v) << 20 }},
	'I': {3, func(v int) uint32 { return uint32(v>>1)<<30 | uint32(v&1)<<12 }},

	// Shifts to the left and to the right, of words.
	'L': {63, func(v int) uint32 { return uint32(v) << 16 }},
	'R': {32, func(v int) uint32 { return -uint32(v) << 16 }},

	// Offsets, in units of 16, 8 and 4 bytes; to be added afterwards; of a pair.
	'q': {4095 * 16, func(v int) uint32 { return uint32(v) / 16 << 10 }},
	'e': {4095 * 8, func(v int) uint32 { return uint32(v) / 8 << 10 }},
	'w': {4095 * 4, func(v int) uint32 { return uint32(v) / 4 << 10 }},
	'p': {255, func(v int) uint32 { return uint32(v) << 12 }},
	'=': {4, func(int) uint32 { return 0 }}, // an offset that the instruction implies
	'2': {1008, func(v int) uint32 { return uint32(v) / 16 << 15 }},
}

type form struct {
	word   uint32
	places string
}

var (
	forms   = map[string]form{}
	operand = regexp.MustCompile(`\b[vqdswx]\d+|#\d+|\[\d+\]`)
	number  = regexp.MustCompile(`\d+`)
)

func init() {
	for line := range strings.Lines(strings.TrimSpace(instructions)) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		letters, pattern, _ := strings.Cut(rest, " ")
		base, err := strconv.ParseUint(word, 16, 32)
		if err != nil {
			panic(err)
		}
		forms[strings.TrimSpace(pattern)] = form{uint32(base), letters}
	}
}

// encode returns the word of an instruction in the syntax of the GNU assembler.
func encode(text string) uint32 {
	var values []int
	pattern := operand.ReplaceAllStringFunc(text, func(op string) string {
		if op == "#0" && strings.HasSuffix(text, "#0.0") {
			return op
		}
		v, err := strconv.Atoi(number.FindString(op))
		if err != nil {
			panic(err)
		}
		values = append(values, v)
		return number.ReplaceAllString(op, "")
	})
	f, ok := forms[pattern]
	if !ok || len(values) != len(f.places) {
		panic(fmt.Sprintf("%s: no form of %q", text, pattern))
	}
	word := f.word
	for i, letter := range f.places {
		if letter == '+' { // the next register of a list
			if values[i] != (values[i-1]+1)%32 {
				panic(text + ": registers of a list that do not follow one another")
			}
			continue
		}
		p := places[letter]
		if values[i] < 0 || values[i] > p.most || letter == 'm' && strings.Contains(pattern, "v.h[]") && values[i] > 15 {
			panic(fmt.Sprintf("%s: operand %d is out of range", text, i))
		}
		word += p.bits(values[i])
	}
	return word
}
