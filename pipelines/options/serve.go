package options

import (
	"net"
	"os"
	"time"
)

// Serve says which model to serve, where, and within which limits. The zero value of a field is not its
// default: see pipelines.NewServeOptions.
type Serve struct {
	Model     string        `flag:"model,common" group:"Model and output" placeholder:"DIR" help:"Directory of the model, or an alias such as DIR@champion (see bochner models --help)."`
	Threshold *float64      `flag:"threshold,common" group:"Model and output" help:"For two classes: predict the positive one if its probability (for a model without probabilities: its score minus the other, halved) is at least this number. By default the class with the larger probability or score is predicted."`
	Reload    time.Duration `flag:"reload,common" group:"Model and output" default:"1m" help:"How often --model is looked up; a new model replaces the old one between two requests. 0 means never. SIGHUP looks it up at once."`
	Door      Door          `group:"Server"`
	Limits    ServeLimits   `group:"Server"`

	// Started, unless nil, is called with the address when the server accepts connections.
	Started func(net.Addr)
	// Look, unless nil, has the server look up the model at each signal.
	Look <-chan os.Signal
}

// Door says where a server listens, and who may use it.
type Door struct {
	Listen    string `flag:"listen,common" default:"127.0.0.1:8080" placeholder:"ADDRESS" help:"Address to listen on. An address that other machines can reach needs --token_file or --insecure."`
	TLSCert   string `flag:"tls_cert,common" placeholder:"FILE" help:"File with PEM certificates, the server's first. Turns on HTTPS."`
	TLSKey    string `flag:"tls_key,common" placeholder:"FILE" help:"File with the private key of --tls_cert, in PEM."`
	TokenFile string `flag:"token_file,common" placeholder:"FILE" help:"File with a secret that requests must send, as Authorization: Bearer SECRET; a browser asks for it as a password. /healthz, /ping and /readyz need no secret."`
	Insecure  bool   `flag:"insecure" help:"Listen without a token on an address that other machines can reach."`
}

// ServeLimits bounds the resources that clients can use.
type ServeLimits struct {
	Workers     int           `flag:"workers" help:"Requests that are computed at the same time. 0 means one for each core."`
	Body        int64         `flag:"max_body,common" unit:"bytes" default:"8388608" help:"Largest body of a request in bytes, as a number or as 8MB."`
	Rows        int           `flag:"max_rows,common" default:"10000" help:"Largest number of rows in a request."`
	Explained   int           `flag:"max_explained" default:"1000" help:"Largest number of rows in a request that asks for explanations, which take long for many columns."`
	Memory      int64         `flag:"max_memory" unit:"bytes" default:"268435456" help:"Largest total size of all bodies and answers in memory at the same time; further requests are answered with 503."`
	Requests    int           `flag:"max_requests" default:"1000" help:"Requests that may wait or run at the same time; further ones are answered with 503."`
	Connections int           `flag:"max_connections" default:"4000" help:"Connections that may be open at the same time; further ones wait to be accepted."`
	Timeout     time.Duration `flag:"timeout" default:"30s" help:"Time limit for a client to send its request, and again to take the answer."`
	Drain       time.Duration `flag:"drain" default:"30s" help:"How long to wait, after SIGTERM, for requests that have begun."`
}
