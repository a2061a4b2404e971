// Package dataset combines the files that a user names into one table of rows, whatever their format.
//
// Open lists the files, recognises their format and checks that they agree; the result is a
// Dataset. Dataset.Shards cuts the files into shards. Dataset.ReadFrom returns the Reader of a
// shard, whose Next fills one block of rows after another.
//
// No row is lost silently. The Report of a shard records what its reader saw. Tile checks that the shards
// of a file join exactly. Every row is either used or set aside with its position and the reason.
//
// A package of a format, such as csvio, registers a Format. Formats with columns share a TableLayout: the names of
// the columns and their roles, such as feature, label or weight. Its Match finds the same columns in other files.
package dataset
