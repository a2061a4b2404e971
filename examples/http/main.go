// Command http serves the predictions of a model over HTTP: http MODEL 127.0.0.1:8080
//
//	curl http://127.0.0.1:8080/ -d '[{"name": "age", "texts": ["39"]}, {"name": "city", "texts": ["osaka"]}]'
package main

import (
	"encoding/json"
	"errors"
	"log"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/bochner-ml/bochner/models"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: http MODEL 127.0.0.1:8080")
	}
	m, err := models.Load(os.DirFS(os.Args[1]))
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	log.Printf("http://%s/", listener.Addr())
	predict := func(w http.ResponseWriter, r *http.Request) {
		var columns []models.Column // with numbers as values, or with texts
		var rows []float64
		err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 8<<20)).Decode(&columns)
		if err == nil {
			rows, err = m.AppendRows(nil, columns...)
		}
		n := len(rows) / m.Manifest.Input.Dim
		predictions, scores := make([]float64, n*m.Width()), make([]float64, n*len(m.Outputs()))
		if err = errors.Join(err, m.Predict(predictions, rows), m.Scores(scores, rows)); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		json.NewEncoder(w).Encode(map[string]any{"predictions": predictions, "outputs": m.Outputs(), "scores": scores})
	}
	server := http.Server{ReadTimeout: time.Minute, Handler: http.HandlerFunc(predict)}
	log.Fatal(server.Serve(listener))
}
