package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"headstart/memory"
	v1 "headstart/worker/api/v1"
	"headstart/worker/calllog"
	"headstart/worker/contacts"
)

// contactsOptions are the flags that the commands on contacts share.
type contactsOptions struct {
	data, database, erasures, api string
	asJSON                        bool
}

// contactDesk is what the commands ask: a database here, or another process's /v1.
type contactDesk interface {
	memory(ctx context.Context, contact string) (v1.Memory, error)
	correct(ctx context.Context, contact, fact, text string) (v1.Fact, error)
	remove(ctx context.Context, contact, fact string) error
	forget(ctx context.Context, contact string) (contacts.Receipt, error)
}

func contactsCommand() *cobra.Command {
	var o contactsOptions
	cmd := &cobra.Command{
		Use:   "contacts",
		Short: "What is remembered of a contact: look, correct, delete, forget",
		Long: `Shows and changes what calls taught about a contact. A contact is named by the
id that the app gave, else by the number in E.164; ids match exactly.

The commands open the database themselves. While a worker runs on this data
folder, ask it with --api, so that the calls that are on are erased too.`,
		Example: `  headstart contacts show +34600123456
  headstart contacts correct paciente-42 f_x7k2 "Vive en Lugo."
  headstart contacts delete-fact paciente-42 f_x7k2
  headstart contacts forget +34600123456 --api http://127.0.0.1:8080`,
	}
	f := cmd.PersistentFlags()
	f.StringVar(&o.data, "data", envOr("HEADSTART_DATA", ".headstart"), "`DIR` of the log and its spools (HEADSTART_DATA)")
	f.StringVar(&o.database, "database", "", "`URL` of a PostgreSQL, postgres://…; none is SQLite in --data (HEADSTART_DATABASE_URL)")
	f.StringVar(&o.erasures, "erasures", "", "`DIR` of the ledger of erasures and its key; none is erasures in --data (HEADSTART_ERASURES)")
	f.StringVar(&o.api, "api", "", "ask a worker's /v1 at this `URL` instead; its key is HEADSTART_API_KEY")
	f.BoolVar(&o.asJSON, "json", false, "write JSON")
	cmd.AddCommand(contactsShow(&o), contactsCorrect(&o), contactsDelete(&o), contactsForget(&o))
	return cmd
}

func contactsShow(o *contactsOptions) *cobra.Command {
	return &cobra.Command{
		Use:     "show CONTACT",
		Short:   "What is remembered of a contact, with its source, and what was",
		Example: `  headstart contacts show +34600123456 --json`,
		Args:    exactly(1, "CONTACT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.ask(cmd.Context(), func(desk contactDesk) error {
				m, err := desk.memory(cmd.Context(), args[0])
				if err != nil {
					return fmt.Errorf("show contact: %w", err)
				}
				return o.write(cmd.OutOrStdout(), m, func(out io.Writer) { writeMemory(out, m) })
			})
		},
	}
}

func contactsCorrect(o *contactsOptions) *cobra.Command {
	return &cobra.Command{
		Use:     "correct CONTACT FACT TEXT",
		Short:   "Put another text in a fact's place; the old one becomes history",
		Example: `  headstart contacts correct paciente-42 f_x7k2 "Vive en Lugo."`,
		Args:    exactly(3, "CONTACT FACT TEXT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.ask(cmd.Context(), func(desk contactDesk) error {
				fact, err := desk.correct(cmd.Context(), args[0], args[1], args[2])
				if err != nil {
					return factFailed("correct fact", args[0], err)
				}
				return o.write(cmd.OutOrStdout(), fact, func(out io.Writer) { fmt.Fprintf(out, "held as %s: %s\n", fact.ID, fact.Text) })
			})
		},
	}
}

func contactsDelete(o *contactsOptions) *cobra.Command {
	return &cobra.Command{
		Use:     "delete-fact CONTACT FACT",
		Short:   "Erase one fact, held or closed; the logs keep their words",
		Example: `  headstart contacts delete-fact paciente-42 f_x7k2`,
		Args:    exactly(2, "CONTACT FACT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.ask(cmd.Context(), func(desk contactDesk) error {
				if err := desk.remove(cmd.Context(), args[0], args[1]); err != nil {
					return factFailed("delete fact", args[0], err)
				}
				return o.write(cmd.OutOrStdout(), map[string]string{"deleted": args[1]}, func(out io.Writer) { fmt.Fprintf(out, "deleted %s\n", args[1]) })
			})
		},
	}
}

func contactsForget(o *contactsOptions) *cobra.Command {
	return &cobra.Command{
		Use:   "forget CONTACT",
		Short: "Erase a contact: facts, vectors, words in logs and spools",
		Long: `Erases everything that is remembered of a contact, and what anybody said in the
contact's calls. Times, reasons and figures of the calls stay. The receipt says
how much was erased where. A ledger outside the database, which names nobody,
makes a database that is restored from a backup forget again at the next start.`,
		Example: `  headstart contacts forget +34600123456 --api http://127.0.0.1:8080`,
		Args:    exactly(1, "CONTACT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.ask(cmd.Context(), func(desk contactDesk) error {
				r, err := desk.forget(cmd.Context(), args[0])
				if errors.Is(err, calllog.ErrElsewhere) {
					return fmt.Errorf("forget contact: %w; ask that worker with --api URL", err)
				}
				if err != nil {
					return fmt.Errorf("forget contact: %w; ask again to finish it", err)
				}
				return o.write(cmd.OutOrStdout(), r, func(out io.Writer) { writeReceipt(out, r) })
			})
		},
	}
}

// factFailed says what to do about a fact that is not there.
func factFailed(what, contact string, err error) error {
	if errors.Is(err, memory.ErrNoFact) {
		return fmt.Errorf("%s: %w; headstart contacts show %s lists them", what, err, contact)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// exactly refuses another number of words, and a contact without a name.
func exactly(n int, names string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return usageError{fmt.Errorf("%s takes %s, got %q; see headstart contacts %s --help", cmd.Name(), names, args, cmd.Name())}
		}
		if strings.TrimSpace(args[0]) == "" {
			return usageError{fmt.Errorf("%s: no contact is named", cmd.Name())}
		}
		return nil
	}
}

func (o *contactsOptions) write(out io.Writer, value any, plain func(io.Writer)) error {
	if o.asJSON {
		return json.NewEncoder(out).Encode(value)
	}
	plain(out)
	return nil
}

func writeMemory(out io.Writer, m v1.Memory) {
	if len(m.Facts)+len(m.History) == 0 {
		fmt.Fprintf(out, "nothing is remembered of %s%s\n", m.Contact, asNumber(m.Contact))
	}
	for _, f := range m.Facts {
		fmt.Fprintf(out, "%s  %s  %-14s %s  (%s)\n", f.ID, f.Since.Local().Format(time.DateOnly), f.Category, f.Text, firstOf(f.Source, "an operator"))
	}
	for _, f := range m.History {
		fmt.Fprintf(out, "%s  %s  %-14s %s  (%s; until %s, by %s)\n", f.ID, f.Since.Local().Format(time.DateOnly), f.Category, f.Text,
			firstOf(f.Source, "an operator"), f.Until.Local().Format(time.DateOnly), firstOf(f.ClosedBy, "an operator"))
	}
}

// asNumber reminds who wrote a telephone number in another way how ids are kept.
func asNumber(contact string) string {
	if strings.Trim(contact, "0123456789 ()-./+") != "" || strings.Trim(contact, "0123456789") == "+" && contact[0] == '+' {
		return ""
	}
	return "; ids match exactly, and a number is written as +34600123456"
}

func writeReceipt(out io.Writer, r contacts.Receipt) {
	fmt.Fprintf(out, "facts    %d erased, each with its vector\n", r.Facts.Erased)
	fmt.Fprintf(out, "logs     %d calls, %d entries without words now\n", r.Logs.Calls, r.Logs.Entries)
	fmt.Fprintf(out, "spools   %d logs, %d entries\n", r.Spools.Logs, r.Spools.Entries)
	fmt.Fprintf(out, "live     %d calls recall nothing any more\n", r.Live)
	fmt.Fprintf(out, "ledger   %s at %s\n", r.Ledger, r.At.Format(time.RFC3339))
	fmt.Fprintf(out, "pending  %s\n", r.Pending)
}

// ask runs a command on the database, or on the process that was named.
func (o *contactsOptions) ask(ctx context.Context, do func(contactDesk) error) error {
	if o.api != "" {
		if base, err := url.Parse(o.api); err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
			return usageError{fmt.Errorf("--api %s: want a URL such as http://127.0.0.1:8080", o.api)}
		}
		return do(elsewhere{o.api, os.Getenv("HEADSTART_API_KEY")})
	}
	db, err := openRecords(ctx, databaseOr(o.database), o.data)
	if err != nil {
		return err
	}
	return errors.Join(do(localDesk{o, db, &contacts.Desk{Org: calllog.DefaultOrg, Facts: db, Editor: db}}), db.Close())
}

// erasuresOr is where the ledger of erasures lies.
func erasuresOr(flag, data string) string {
	return firstOf(flag, os.Getenv("HEADSTART_ERASURES"), filepath.Join(data, "erasures"))
}

// openDesk makes the operator's hand on the contacts of a database.
func openDesk(book *calllog.Book, db database, erasures string) (*contacts.Desk, error) {
	ledger, err := contacts.OpenLedger(erasures)
	if err != nil {
		return nil, err
	}
	return &contacts.Desk{Org: calllog.DefaultOrg, Facts: db, Editor: db, Eraser: db, Spools: book, Ledger: ledger}, nil
}

// localDesk asks the database of this machine. Only to forget somebody it opens, and
// makes, spools and the ledger.
type localDesk struct {
	options *contactsOptions
	db      database
	desk    *contacts.Desk
}

func (d localDesk) memory(ctx context.Context, contact string) (v1.Memory, error) {
	m, err := d.desk.Memory(ctx, contact)
	return v1.WireMemory(contact, m), err
}

func (d localDesk) correct(ctx context.Context, contact, fact, text string) (v1.Fact, error) {
	f, err := d.desk.Correct(ctx, contact, fact, text)
	return v1.WireFact(f), err
}

func (d localDesk) remove(ctx context.Context, contact, fact string) error {
	return d.desk.Delete(ctx, contact, fact)
}

// forget takes over the spools that dead workers left, for they may hold words.
func (d localDesk) forget(ctx context.Context, contact string) (r contacts.Receipt, err error) {
	// Nobody recovers calls here but to erase them: what they taught is left to the
	// worker that starts next.
	waits := func(string) bool { return true }
	book, err := openSpools(d.options.data, d.db, waits, zap.NewNop())
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, book.Close()) }()
	desk, err := openDesk(book, d.db, erasuresOr(d.options.erasures, d.options.data))
	if err != nil {
		return r, err
	}
	if _, err := book.Recover(ctx); err != nil {
		return r, fmt.Errorf("take over what dead workers left: %w", err)
	}
	return desk.Forget(ctx, contact)
}
