package main

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/spf13/cobra"

	"assay/cmd/assay/internal/exit"
	"assay/internal/model/mockapi"
	"assay/internal/model/script"
)

func (p *cli) newMockModelCommand() *cobra.Command {
	var file, addr string
	cmd := &cobra.Command{
		Use:   "mockmodel --script FILE",
		Short: "Serve a scripted model on loopback",
		Long: `Serve the replies of a script, streamed or not, like the Messages API
(POST /v1/messages), Chat Completions (POST /v1/chat/completions) and Responses
(POST /v1/responses), and answer 400 to requests that the real API refuses. The
first line on stdout is the address.

Exit status: 0 ended by a signal, 2 bad usage or script, 3 it could not serve.`,
		Example: `  assay mockmodel --script turns.jsonl --addr 127.0.0.1:8080 &
  ANTHROPIC_API_KEY=any assay run cases --model anthropic/any --model-arg base_url=http://127.0.0.1:8080`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if file == "" {
				return exit.UsageError(errors.New("mockmodel needs a --script, the file with the replies"))
			}
			turns, err := script.ReadFile(file)
			if err != nil {
				return exit.UsageError(err)
			}
			return p.serveMockModel(cmd.Context(), turns, addr)
		},
	}
	cmd.Flags().StringVar(&file, "script", "", "`file` with one reply per line")
	cmd.Flags().StringVar(&addr, "addr", "127.0.0.1:0", "`address` to listen on; port 0 picks a free port")
	return cmd
}

// serveMockModel serves the script at addr until a signal.
func (p *cli) serveMockModel(ctx context.Context, script *script.Script, addr string) error {
	ctx, interrupt := p.cancelOnSignal(ctx)
	defer interrupt.stop()
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return exit.BrokenError(err)
	}
	if _, err := fmt.Fprintf(p.stdout, "http://%s\n", ln.Addr()); err != nil {
		return exit.BrokenError(err)
	}
	if err := mockapi.New(script, p.newLogger()).Serve(ctx, ln); err != nil {
		return exit.BrokenError(err)
	}
	return nil
}
