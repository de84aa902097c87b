package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"

	"github.com/spf13/cobra"

	v1 "headstart/worker/api/v1"
)

func transferCommand() *cobra.Command {
	var api string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "transfer CALL TO",
		Short: "Pass the caller of a call that is on to another telephone",
		Long: `Asks the worker that holds the call to pass its caller on to TO: a telephone
number in E.164 or a SIP address. The agent tells the caller; then LiveKit's SIP
service refers their telephone (a cold transfer), which their provider must allow.

It returns once somebody there has answered; the call then ends as transferred. A
caller whom nobody takes within 30 s stays with the agent, and the command fails
with the reason.`,
		Example: `  headstart transfer call-7Hq2 +34910000002
  headstart transfer call-7Hq2 sip:desk@pbx.example.org --api http://worker-3:8080 --json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 || args[0] == "" || args[1] == "" {
				return usageError{fmt.Errorf("transfer takes CALL TO, got %q; headstart log lists the calls", args)}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			done, err := elsewhere{api, os.Getenv("HEADSTART_API_KEY")}.transfer(cmd.Context(), args[0], args[1])
			if err != nil {
				return fmt.Errorf("transfer call: %w", err)
			}
			return writeTransferred(cmd.OutOrStdout(), done, asJSON)
		},
	}
	f := cmd.Flags()
	f.StringVar(&api, "api", apiURL(), "the worker's /v1 at this `URL`; its key is HEADSTART_API_KEY")
	f.BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}

// apiURL is where a worker on this machine answers operators.
func apiURL() string {
	if addr := apiAddrOr(defaultAPIAddr); addr != "" && addr != apiOff {
		return "http://" + addr
	}
	return "http://" + defaultAPIAddr
}

func (e elsewhere) transfer(ctx context.Context, call, to string) (done v1.Transferred, err error) {
	err = e.send(ctx, http.MethodPost, "/v1/calls/"+url.PathEscape(call)+"/transfer", map[string]string{"to": to}, &done)
	return done, err
}

func writeTransferred(out io.Writer, done v1.Transferred, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(out).Encode(done)
	}
	_, err := fmt.Fprintf(out, "%s: the caller was taken by %s\n", done.Call, done.To)
	return err
}
