package serve

import (
	"net"
	"os"
	"time"

	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/pipelines/exit"
)

// Options says which model to serve, where, and within which limits. The zero value of a field is not its
// default: see NewOptions.
type Options struct {
	Model     string        `flag:"model,common" group:"Model and output" placeholder:"DIR" help:"Directory of the model, or an alias such as DIR@champion (see bochner models --help)."`
	Threshold *float64      `flag:"threshold,common" group:"Model and output" help:"For two classes: predict the positive one if its probability (for a model without probabilities: its score minus the other, halved) is at least this number. By default the class with the larger probability or score is predicted."`
	Reload    time.Duration `flag:"reload,common" group:"Model and output" default:"1m" help:"How often --model is looked up; a new model replaces the old one between two requests. 0 means never. SIGHUP looks it up at once."`
	Door      Door          `group:"Server"`
	Limits    Limits        `group:"Server"`

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

// Limits bounds the resources that clients can use.
type Limits struct {
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

// NewOptions returns the defaults.
func NewOptions() (o Options) {
	option.List(&o) // sets the defaults in the tags
	return o
}

// validate returns an error for invalid options.
func (o Options) validate() error {
	l, d := o.Limits, o.Door
	switch {
	case o.Model == "":
		return exit.Usage("--model is missing: name the directory of a model, or DIR@champion")
	case o.Reload < 0 || l.Drain < 0:
		return exit.Usage("--reload and --drain must be at least 0 (have %v and %v)", o.Reload, l.Drain)
	case l.Workers < 0 || l.Body < 1 || l.Rows < 1 || l.Explained < 1 || l.Requests < 1 || l.Connections < 1 || l.Timeout <= 0:
		return exit.Usage("--max_body, --max_rows, --max_explained, --max_requests, --max_connections and --timeout must be " +
			"above 0, and --workers at least 0")
	case l.Memory < 2*l.Body:
		return exit.Usage("--max_memory %d is less than twice --max_body %d, so a large request could never be answered",
			l.Memory, l.Body)
	case (d.TLSCert == "") != (d.TLSKey == ""):
		return exit.Usage("--tls_cert and --tls_key must be set together")
	}
	return d.checkSafe()
}

// checkSafe refuses an address that other machines can reach, unless requests need a token or the user has
// allowed it.
func (d Door) checkSafe() error {
	host, _, err := net.SplitHostPort(d.Listen)
	if err != nil {
		return exit.Usage("--listen %s: want an address with a port, such as 127.0.0.1:8080: %w", d.Listen, err)
	}
	if d.TokenFile != "" || d.Insecure || host == "localhost" {
		return nil
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsLoopback() {
		return nil
	}
	return exit.Usage("--listen %s: other machines can reach this address: give a secret with --token_file, or set "+
		"--insecure if something else protects it", d.Listen)
}
