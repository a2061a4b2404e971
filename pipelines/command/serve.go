package command

import (
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/bochner-ml/bochner/pipelines"
)

func serveCommand() *cobra.Command {
	var o pipelines.ServeOptions
	return newCommand("serve", &o, func(cmd *cobra.Command, _ []string) (io.WriterTo, error) {
		if l, is := cmd.ErrOrStderr().(*jsonLog); is {
			slog.SetDefault(slog.New(l.handler))
		}
		if isSet(cmd, "quiet") {
			slog.SetDefault(slog.New(slog.DiscardHandler))
		}
		look := make(chan os.Signal, 1)
		signal.Notify(look, syscall.SIGHUP)
		defer signal.Stop(look)
		o.Look = look
		return nil, pipelines.Serve(cmd.Context(), o)
	})
}
