// Package exact adds float32 values and products of two float32 without any
// rounding, so that a sum does not depend on the order or the grouping of its
// terms: rows may be cut over files, workers and threads in any way.
//
// A Sum is Kulisch's long accumulator (U. Kulisch, "Computer Arithmetic and
// Validity", 2008, §8): a fixed-point number wide enough for every term there
// is. The smallest product of two float32 other than zero is 2⁻¹⁴⁹·2⁻¹⁴⁹, which
// is the unit, 2⁻²⁹⁸. Every term is below 2¹²⁸·2¹²⁸ = 2²⁵⁶, that is 2⁵⁵⁴ units.
// Ten limbs of 64 bits hold sums below 2⁶³⁹ units in two's complement, so
// 2⁸⁵ terms of the greatest size fit: more than an int64 can count, and
// overflow needs no test.
package exact
