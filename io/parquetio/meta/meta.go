// Package meta reads and writes the metadata of Parquet files: the footer and the headers of pages. They are in the
// compact protocol of Apache Thrift; see parquet.thrift in https://github.com/apache/parquet-format.
//
// What is read may be damaged: nothing is allocated by a size that it only states, and all decoding is bounds-checked.
package meta

// Magic begins and ends a file.
const Magic = "PAR1"

// Physical types.
const (
	Boolean = iota
	Int32
	Int64
	Int96
	Float
	Double
	ByteArray
	FixedArray
)

// Members of the union LogicalType.
const (
	LogicalString    = 1
	LogicalList      = 3
	LogicalEnum      = 4
	LogicalDecimal   = 5
	LogicalDate      = 6
	LogicalTime      = 7
	LogicalTimestamp = 8
	LogicalInteger   = 10
	LogicalUnknown   = 11
	LogicalJSON      = 12
	LogicalBSON      = 13
	LogicalUUID      = 14
	LogicalFloat16   = 15
)

// ConvertedList is the older type of lists.
const ConvertedList = 3

// logicalOf maps the older converted types to logical types.
var logicalOf = map[int64]Element{
	0: {Logical: LogicalString}, 4: {Logical: LogicalEnum}, 5: {Logical: LogicalDecimal}, 6: {Logical: LogicalDate},
	7: {Logical: LogicalTime, Unit: 1}, 8: {Logical: LogicalTime, Unit: 2},
	9: {Logical: LogicalTimestamp, Unit: 1}, 10: {Logical: LogicalTimestamp, Unit: 2},
	11: {Logical: LogicalInteger, Unsigned: true}, 12: {Logical: LogicalInteger, Unsigned: true},
	13: {Logical: LogicalInteger, Unsigned: true}, 14: {Logical: LogicalInteger, Unsigned: true},
	15: {Logical: LogicalInteger}, 16: {Logical: LogicalInteger},
	17: {Logical: LogicalInteger}, 18: {Logical: LogicalInteger},
	19: {Logical: LogicalJSON}, 20: {Logical: LogicalBSON}, 21: {Logical: -1},
}

// Types of pages.
const (
	PageData       = 0
	PageDictionary = 2
	PageDataV2     = 3
)

// Encodings.
const (
	Plain           = 0
	PlainDictionary = 2
	RLE             = 3
	DeltaBinary     = 5
	DeltaLength     = 6
	DeltaBytes      = 7
	Dictionary      = 8
	Split           = 9
)

// Codecs.
const (
	None   = 0
	Snappy = 1
	Gzip   = 2
	Brotli = 4
	Zstd   = 6
	LZ4    = 7
)
