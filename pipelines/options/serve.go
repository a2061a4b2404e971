package options

import (
	"net"
	"os"
	"time"
)

// Serve holds the options of pipelines.Serve: the model, the address and limits.
type Serve struct {
	// Directory of the model, or an alias such as DIR@champion (see bochner models --help).
	Model string `flag:"model,common" group:"Model and output" placeholder:"DIR"`

	// For two classes: predict the positive one if its probability (for a model without probabilities:
	// its score minus the other, halved) is at least this number. By default the class with the larger
	// probability or score is predicted.
	Threshold *float64 `flag:"threshold,common" group:"Model and output"`

	// How often --model is looked up; a new model replaces the old one between two requests. 0 means
	// never. SIGHUP looks it up at once.
	Reload time.Duration `flag:"reload,common" group:"Model and output" default:"1m"`
	Access Access        `group:"Server"`
	Limits ServeLimits   `group:"Server"`

	// Started, unless nil, is called with the address when the server accepts connections.
	Started func(net.Addr)

	// Refresh, unless nil, has the server look up the model at each signal.
	Refresh <-chan os.Signal
}

// NewServe returns the defaults of the command.
func NewServe() Serve { return defaults[Serve]() }

// Access holds the address of a server, and who may use it.
type Access struct {
	// Address to listen on. An address that other machines can reach needs --token_file or --insecure.
	Listen string `flag:"listen,common" default:"127.0.0.1:8080" placeholder:"ADDRESS"`

	// File with PEM certificates, the server's first. Turns on HTTPS.
	TLSCert string `flag:"tls_cert,common" placeholder:"FILE"`

	// File with the private key of --tls_cert, in PEM.
	TLSKey string `flag:"tls_key,common" placeholder:"FILE"`

	// File with a secret that requests must send, as Authorization: Bearer SECRET; a browser asks for
	// it as a password. /healthz, /ping and /readyz need no secret.
	TokenFile string `flag:"token_file,common" placeholder:"FILE"`

	// Listen without a token on an address that other machines can reach.
	Insecure bool `flag:"insecure"`
}

// ServeLimits bounds the resources that clients can use.
type ServeLimits struct {
	// Requests that are computed at the same time. 0 means one for each core.
	Workers int `flag:"workers"`

	// Largest body of a request in bytes, as a number or as 8MB.
	MaxBody int64 `flag:"max_body,common" unit:"bytes" default:"8388608"`

	// Largest number of rows in a request.
	MaxRows int `flag:"max_rows,common" default:"10000"`

	// Largest number of rows in a request that asks for explanations, which take long for many
	// columns.
	MaxExplained int `flag:"max_explained" default:"1000"`

	// Largest total size of all bodies and answers in memory at the same time; further requests are
	// answered with 503.
	MaxMemory int64 `flag:"max_memory" unit:"bytes" default:"268435456"`

	// Requests that may wait or run at the same time; further ones are answered with 503.
	MaxRequests int `flag:"max_requests" default:"1000"`

	// Connections that may be open at the same time; further ones wait to be accepted.
	MaxConnections int `flag:"max_connections" default:"4000"`

	// Time limit for a client to send its request, and again to take the answer.
	Timeout time.Duration `flag:"timeout" default:"30s"`

	// How long to wait, after SIGTERM, for requests that have begun.
	Drain time.Duration `flag:"drain" default:"30s"`
}
