// Package export writes tables, such as predictions and features, to files.
//
// A job describes its table once, as Columns, and passes blocks of rows to a Writer:
//
//	files, err := export.Files("csv", columns) // most formats have one file; npy has a file for each column
//	w := files[0].New(out)
//	err = w.Write(&export.Block{N: n, Values: values}) // values[j] belongs to columns[j]
//	err = w.Close()
//
// A format decides how a column looks: as fields of CSV, members of a JSON object, or an array. It is a Format that
// its package registers, and other packages add formats, such as export/parquet. Workers write files of consecutive
// rows, and Join makes one file of them.
package export
