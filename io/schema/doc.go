// Package schema describes the columns of a table: how the text or value of a field
// becomes one or more numbers of a row. It infers the description from the content of the
// data, reads and writes it as a file that people can edit, and decodes fields with it.
//
// A number is a float32, and NaN if it is missing. The values of a category are called its levels; a field has the
// index of its level. Package features/preprocess decides how these indices become features. A Table is plain data
// and part of a model, so the same field has the same value in every job.
//
// A Survey counts the fields of all columns; surveys of parts of the data can be merged. Infer turns
// it into a Description, which people can edit as YAML (ReadDescription, AppendDescription).
// Description.Table returns the Table of the features, and a Decoder stores fields in rows by it.
//
// A Vocabulary holds the classes of labels in their order. A TimeLayout is a way to write times. A Key makes the
// key of a row, by which the row is assigned to a fold.
package schema
