package main

import (
	"fmt"
	"strings"
)

// writer collects the assembly and the declarations that go with it.
type writer struct {
	asm, stubs strings.Builder
	offsets    map[string]int // of the arguments of the function
	next       int            // the next free integer register
	labels     int
}

// reg is an integer register: Rn in Go's assembly, xn or wn in the GNU assembler's.
type reg int

func (r reg) String() string { return fmt.Sprint("R", int(r)) }

// text begins a function.
func (w *writer) text(name, signature, doc string) {
	params, result, _ := strings.Cut(strings.TrimPrefix(signature, "func("), ")")
	w.offsets, w.next = map[string]int{}, 0
	at := 0
	place := func(name, typ string) {
		size := 8
		if strings.TrimPrefix(typ, "*") == typ && strings.HasSuffix(typ, "32") {
			size = 4
		}
		at = (at + size - 1) / size * size
		w.offsets[name] = at
		at += size
	}
	typ := ""
	fields := strings.Split(params, ", ")
	types := make([]string, len(fields))
	for i := len(fields) - 1; i >= 0; i-- { // a type may stand after several names
		if name, t, ok := strings.Cut(fields[i], " "); ok {
			fields[i], typ = name, t
		}
		types[i] = typ
	}
	for i, name := range fields {
		place(name, types[i])
	}
	if result = strings.Trim(result, " ()"); result != "" {
		at = (at + 7) &^ 7
		name, t, ok := strings.Cut(result, " ")
		if !ok {
			name, t = "ret", result
		}
		place(name, t)
	}
	fmt.Fprintf(&w.stubs, "\n// %s %s\n//\n//go:noescape\nfunc %s%s\n", name, strings.ReplaceAll(doc, "\n", "\n// "), name,
		strings.TrimPrefix(signature, "func"))
	fmt.Fprintf(&w.asm, "\n// func %s%s\nTEXT ·%s(SB), NOSPLIT, $0-%d\n", name, strings.TrimPrefix(signature, "func"),
		name, at)
}

// op writes an instruction of Go's assembler.
func (w *writer) op(format string, args ...any) { fmt.Fprintf(&w.asm, "\t"+format+"\n", args...) }

// v writes a vector instruction, given in the syntax of the GNU assembler, as a word. The
// arguments are integer registers and numbers.
func (w *writer) v(format string, args ...any) {
	for i, a := range args {
		if r, ok := a.(reg); ok {
			args[i] = int(r)
		}
	}
	text := fmt.Sprintf(format, args...)
	fmt.Fprintf(&w.asm, "\tWORD $%#08x // %s\n", encode(text), text)
}

// reg returns a free integer register. R16 to R18, and R26 and above, belong to the
// linker, the platform and Go.
func (w *writer) reg() reg {
	r := w.next
	if w.next++; w.next == 15 { // R15 holds constants that go to a vector register
		w.next = 19
	}
	if r > 25 {
		panic("out of registers")
	}
	return reg(r)
}

// arg loads an argument into a register; shifted, to make bytes of elements.
func (w *writer) arg(name string, shift ...int) reg {
	r := w.reg()
	w.op("MOVD %s, %v", w.slot(name), r)
	for _, s := range shift {
		w.op("LSL $%d, %v", s, r)
	}
	return r
}

func (w *writer) slot(name string) string {
	at, ok := w.offsets[name]
	if !ok {
		panic("no argument " + name)
	}
	return fmt.Sprintf("%s+%d(FP)", name, at)
}

// copy returns a register with the value of r.
func (w *writer) copy(r reg) reg {
	c := w.reg()
	w.op("MOVD %v, %v", r, c)
	return c
}

// argument32 fills vector register v with a float32 argument; words and doubles fill it with a constant.
func (w *writer) argument32(v int, name string) {
	r := w.reg()
	w.op("MOVWU %s, %v", w.slot(name), r)
	w.v("dup v%d.4s, w%d", v, r)
	w.next = int(r)
}

func (w *writer) words(v int, word uint32) {
	w.op("MOVD $%#x, R15", word)
	w.v("dup v%d.4s, w15", v)
}

func (w *writer) doubles(v int, word uint64) {
	w.op("MOVD $%#x, R15", word)
	w.v("dup v%d.2d, x15", v)
}

func (w *writer) label() string {
	w.labels++
	return fmt.Sprint("l", w.labels)
}

// loop runs body until count, which it uses up by step, is zero. Only with
// maybeNone may count be zero at first.
func (w *writer) loop(count reg, step int, maybeNone bool, body func()) {
	top, done := w.label(), w.label()
	if maybeNone {
		w.op("CBZ %v, %s", count, done)
	}
	fmt.Fprintf(&w.asm, "%s:\n", top)
	body()
	w.op("SUBS $%d, %v", step, count)
	w.op("BNE %s", top)
	if maybeNone {
		fmt.Fprintf(&w.asm, "%s:\n", done)
	}
}

// steps runs body for whole runs of n of count, and then rest with what is left in
// count, which may be zero.
func (w *writer) steps(count reg, n int, body func()) {
	top, rest := w.label(), w.label()
	w.op("SUBS $%d, %v", n, count)
	w.op("BLT %s", rest)
	fmt.Fprintf(&w.asm, "%s:\n", top)
	body()
	w.op("SUBS $%d, %v", n, count)
	w.op("BGE %s", top)
	fmt.Fprintf(&w.asm, "%s:\n", rest)
	w.op("ADD $%d, %v", n, count)
}

func (w *writer) ret() { w.op("RET") }

// clear makes vector registers zero.
func (w *writer) clear(v ...int) {
	for _, r := range v {
		w.v("eor v%d.16b, v%d.16b, v%d.16b", r, r, r)
	}
}

// span returns n numbers from first on.
func span(first, n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = first + i
	}
	return s
}
