// Package table prints the tables in the results of jobs as text.
//
// A Table has a header and rows of cells. Write aligns columns on the right, which suits numbers; WriteLeft aligns
// them on the left. Write also points to the row that was marked with Mark:
//
//	lambda    R²
//	 1e-06  0.87
//	 1e-05  0.88  <- chosen
//
// Facts is a table of items and their values. Addf leaves out items without a value. Write prints the items in a
// column of fixed width, and indents further lines of a value:
//
//	model     /models/wine
//	note      the first line
//	          and the second
//
// Pages in HTML show the same tables (package report). Only these use Shades and More.
package table
