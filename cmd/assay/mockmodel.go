package main

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/spf13/cobra"

	"assay/internal/model/mockapi"
	"assay/internal/model/script"
)

func (p *process) mockmodelCommand() *cobra.Command {
	var file, addr string
	cmd := &cobra.Command{
		Use:   "mockmodel --script FILE",
		Short: "Serve a scripted model on loopback",
		Long: `Serves the replies of a script, plain and streamed, as the Messages API does
(POST /v1/messages) and as Chat Completions (POST /v1/chat/completions), and
answers 400 where the real API would. Its first line on stdout is its address.

Exit status: 0 ended by a signal, 2 bad usage or script, 3 it could not serve.`,
		Example: `  assay mockmodel --script turns.jsonl --addr 127.0.0.1:8080 &
  ANTHROPIC_API_KEY=any assay run cases --model anthropic/any --model-arg base_url=http://127.0.0.1:8080`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if file == "" {
				return usage(errors.New("mockmodel needs a --script, the file with its replies"))
			}
			turns, err := script.ReadFile(file)
			if err != nil {
				return usage(err)
			}
			return p.serveMock(cmd.Context(), turns, addr)
		},
	}
	cmd.Flags().StringVar(&file, "script", "", "`file` with one reply per line")
	cmd.Flags().StringVar(&addr, "addr", "127.0.0.1:0", "`address` to listen on; port 0 picks a free port")
	return cmd
}

func (p *process) serveMock(ctx context.Context, script *script.Script, addr string) error {
	ctx, interrupted := p.untilSignal(ctx)
	defer interrupted.stop()
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return broken(err)
	}
	if _, err := fmt.Fprintf(p.out, "http://%s\n", ln.Addr()); err != nil {
		return broken(err)
	}
	if err := mockapi.New(script, p.log()).Serve(ctx, ln); err != nil {
		return broken(err)
	}
	return nil
}
