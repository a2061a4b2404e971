package serve

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/transforms/scoring"
)

// node is a JSON object.
type node = map[string]any

// maxLevels is the largest number of levels of a category that are listed.
const maxLevels = 100

// openAPI answers with a description of the server in OpenAPI 3.1, with the columns of the model in use.
func (s *server) openAPI(w http.ResponseWriter, _ *http.Request) error {
	text, err := json.MarshalIndent(s.current.Load().description(s.token != nil), "", "  ")
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", typeJSON)
	_, _ = w.Write(append(text, '\n')) // ignore errors of clients that have gone
	return nil
}

func (s *servedModel) description(secured bool) node {
	m := s.model.Manifest
	d := node{
		"openapi": "3.1.0",
		"info": node{"title": "Predictions by bochner", "version": m.SHA256[:12],
			"description": fmt.Sprintf("A model for %s with %d columns.", m.Task, len(s.names))},
		"paths": s.paths(),
		"components": node{
			"schemas":    node{"Row": s.row(), "Prediction": s.prediction(), "Problem": problemSchema},
			"parameters": node{},
		},
	}
	parameters := d["components"].(node)["parameters"].(node)
	for _, name := range optionNames {
		parameters[name] = node{"name": name, "in": "query", "description": aboutOptions[name], "schema": schemaOf(name)}
	}
	if secured {
		d["components"].(node)["securitySchemes"] = node{"token": node{"type": "http", "scheme": "bearer"}}
		d["security"] = []node{{"token": []string{}}}
	}
	return d
}

// aboutOptions has descriptions of the options of requests.
var aboutOptions = map[string]string{
	"scores":        "Also return the score of every output.",
	"probabilities": "Also return the probability of every class.",
	"interval":      "Also return an interval with this coverage for every number, or a set of classes.",
	"novelty":       "Also return how far the row is from the training rows, whose mean is 1.",
	"explain": "Also return the mean prediction (base) and the effect of every column on this one; of a classifier, on " +
		"its score.",
}

// schemaOf returns the schema of the value of an option.
func schemaOf(option string) node {
	if option == "interval" {
		return node{"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1, "examples": []float64{0.9}}
	}
	return node{"type": "boolean"}
}

// paths describes the paths.
func (s *servedModel) paths() node {
	rows := func(name string) node { return node{"type": "array", "minItems": 1, "items": ref(name)} }
	content := func(form node) node { return node{typeJSON: node{"schema": form}} }
	predictions := func(items node, required ...string) node {
		return node{"type": "object", "required": required, "properties": node{
			"model":       node{"type": "string", "description": "Digest of the model."},
			"predictions": node{"type": "array", "items": items}}}
	}
	answers := func(ok node) node {
		all := node{"200": node{"description": "A prediction for each row, in order.", "content": ok}}
		for code, why := range map[string]string{
			"400": "The body does not match this description.", "401": "The token is missing or wrong.",
			"408": "The body did not arrive in time.",
			"413": "The body, its number of rows or the answer is too large.", "415": "The type of the body is not supported.",
			"422": "Some rows cannot be used: errors has the row, the column and the reason.",
			"503": "The server is busy, starting or stopping; try again.",
		} {
			all[code] = node{"description": why, "content": node{"application/problem+json": node{"schema": ref("Problem")}}}
		}
		return all
	}
	text, parameters := node{"schema": node{"type": "string"}}, []node{}
	properties, withRows := node{}, node{"rows": rows("Row")}
	for _, name := range optionNames {
		properties[name], withRows[name] = schemaOf(name), schemaOf(name)
		parameters = append(parameters, node{"$ref": "#/components/parameters/" + name})
	}
	body := content(node{"anyOf": []node{
		{"type": "object", "required": []string{"rows"}, "additionalProperties": false, "properties": withRows},
		ref("Row")}})
	body[typeCSV], body[typeLines] = text, text
	frame := content(node{"type": "object", "minProperties": 1, "properties": node{
		"dataframe_split": node{"type": "object", "required": []string{"columns", "data"}, "properties": node{
			"columns": node{"type": "array", "items": node{"type": "string"}},
			"data":    node{"type": "array", "items": node{"type": "array"}}}},
		"dataframe_records": rows("Row"), "instances": rows("Row"),
		"inputs": node{"type": []string{"object", "array"}},
		"params": node{"type": "object", "additionalProperties": false, "properties": properties}}})
	frame[typeCSV] = text
	good := content(predictions(ref("Prediction"), "model", "predictions"))
	good[typeCSV] = text
	return node{
		"/v1/predict": node{"post": node{"operationId": "predict", "summary": "Predict one row or many.",
			"parameters": parameters, "requestBody": node{"required": true, "content": body}, "responses": answers(good)}},
		"/invocations": node{"post": node{"operationId": "invocations", "summary": "Predict as MLflow's scoring server does.",
			"parameters": parameters, "requestBody": node{"required": true, "content": frame},
			"responses": answers(content(predictions(node{}, "predictions")))}},
		"/healthz": node{"get": status200("healthz", "200 while the server runs.")},
		"/readyz":  node{"get": status200("readyz", "200 while requests are answered, otherwise 503.")},
		"/metrics": node{"get": status200("metrics", "Metrics for Prometheus.")},
	}
}

func ref(name string) node { return node{"$ref": "#/components/schemas/" + name} }

func status200(id, about string) node {
	return node{"operationId": id, "summary": about, "responses": node{
		"200":     node{"description": "Yes.", "content": node{"text/plain": node{"schema": node{"type": "string"}}}},
		"default": node{"description": "No.", "content": node{"application/problem+json": node{"schema": ref("Problem")}}}}}
}

var problemSchema = node{"type": "object", "required": []string{"title", "status", "detail"}, "properties": node{
	"title": node{"type": "string"}, "status": node{"type": "integer"}, "detail": node{"type": "string"},
	"rows": node{"type": "integer", "description": "How many rows cannot be used."},
	"errors": node{"type": "array", "items": node{"type": "object", "required": []string{"reason"}, "properties": node{
		"row": node{"type": "integer"}, "line": node{"type": "integer"}, "column": node{"type": "string"},
		"reason": node{"type": "string"}}}}}}

// row returns the schema of a row.
func (s *servedModel) row() node {
	properties := node{}
	for i := range s.types {
		properties[s.types[i].Name] = s.column(&s.types[i])
	}
	return node{"type": "object", "required": s.names, "properties": properties}
}

// column returns the schema of the values of a column. Numbers, booleans and times may be texts, as in CSV.
func (s *servedModel) column(c *schema.Column) node {
	with := func(types ...string) []string {
		if s.missing {
			types = append(types, "null")
		}
		return types
	}
	switch c.Type {
	case schema.Boolean:
		return node{"type": with("boolean", "string", "number"), "description": "true or false, also as yes, no, 1, 0"}
	case schema.Time:
		return node{"type": with("string", "number"), "description": "a time in the layout  " + c.Layout}
	case schema.Category:
		if len(c.Levels) == 0 {
			return node{"type": with("string", "number", "boolean"), "description": "a category"}
		}
		about := "a category; any other text is treated as a level that training has not seen"
		if len(c.Levels) > maxLevels {
			about += fmt.Sprintf("; the first %d of %d levels are listed", maxLevels, len(c.Levels))
		}
		return node{"description": about, "anyOf": []node{
			{"enum": c.Levels[:min(len(c.Levels), maxLevels)]}, {"type": with("string", "number", "boolean")}}}
	}
	return node{"type": with("number", "string"), "description": "a number"}
}

// prediction returns the schema of a prediction with all optional members.
func (s *servedModel) prediction() node {
	m, names := s.model, s.model.Outputs()
	p := scoring.Predict{Content: scoring.Content{Scores: true, Probabilities: m.Manifest.Probabilities != nil,
		Explain: s.unexplained == nil, Certainty: s.certainty()}}
	number, class := node{"type": "number"}, node{"enum": names[:min(len(names), maxLevels)]}
	if m.NumericClasses() || len(names) > maxLevels {
		class = node{"type": []string{"string", "number"}, "description": "a class"}
	}
	properties := node{}
	for _, c := range p.Columns(m) {
		switch {
		case c.List:
			properties[c.Name] = node{"type": "array", "items": number}
		case c.Keys != nil:
			properties[c.Name] = node{"type": "object", "additionalProperties": number}
		case c.Name == "set":
			properties[c.Name] = node{"type": "array", "items": class}
		case c.Levels != nil:
			properties[c.Name] = class
		default:
			properties[c.Name] = number
		}
	}
	return node{"type": "object", "properties": properties}
}
