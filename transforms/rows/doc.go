// Package rows holds PTransforms on PCollections of rows, for your own Beam pipelines. Predict, WithPredictions
// and Featurize apply a model, Evaluate scores one, and Sum and Store train on rows by exact sums.
//
//	type House struct {
//		ID   string  `bochner:",key"`
//		Area float64 `bochner:"area"`
//		Kind string  `bochner:"kind"`
//	}
//	predictions, rejected := rows.Predict(s, rows.Model{Name: "gs://bucket/models@champion"}, houses)
//
// Rows are elements of any struct type, whose fields are columns by their names or tags (see
// records.Tag), or of the type Row, or pairs of a key and either. Fields are read like the fields of
// a file: with the model's types of columns, categories, missing values, labels and weights. Results
// equal the results of the command bochner, bit for bit.
//
// Collections may be bounded or not, and in any windows: results have the window, the timestamp
// and the pane of their row. Rows that cannot be used are elements of a second collection, with
// their keys and the reasons. Inside a bundle rows are computed a block at a time.
//
// Runners show the Beam counters of transforms.MetricsNamespace: rows read are rows used and rows
// set aside.
package rows
