package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"headstart/memory"
	"headstart/worker/calllog"
)

// memoryAudit is what memory audit was asked.
type memoryAudit struct {
	data, database string
	org, language  string
	contact        string
	closed         bool
	asJSON         bool
}

// auditReport is what an audit saw.
type auditReport struct {
	Contacts int              `json:"contacts"` // of whom there is a fact
	Facts    int              `json:"facts"`
	Findings []memory.Finding `json:"findings"`
}

func memoryAuditCommand() *cobra.Command {
	var o memoryAudit
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "List stored facts that read like instructions, secrets or another person's data",
		Long: `Reads what is remembered of every contact and lists the facts that a person should
look at: words to an agent, numbers that are never written (cards, accounts, identity
documents, passcodes; never shown), and telephone numbers, mail addresses or matters of
somebody else. It changes nothing and judges nobody: it reads words. A fact can then be
corrected or deleted with headstart contacts.

It exits 0 whether or not it found something; findings are counted in --json.`,
		Example: `  headstart memory audit
  headstart memory audit --contact +34600123456 --language es
  headstart memory audit --database postgres://localhost/headstart --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	f := cmd.Flags()
	f.StringVar(&o.data, "data", envOr("HEADSTART_DATA", ".headstart"), "`DIR` of the log and its spools (HEADSTART_DATA)")
	databaseFlag(cmd, &o.database)
	f.StringVar(&o.org, "org", calllog.DefaultOrg, "`ORG` whose contacts are read")
	f.StringVar(&o.contact, "contact", "", "read this `CONTACT` alone")
	f.StringVar(&o.language, "language", "", "`LANGUAGE` of the facts, so that numbers in words are read; empty reads digits")
	f.BoolVar(&o.closed, "closed", false, "read facts too that are no longer held")
	f.BoolVar(&o.asJSON, "json", false, "one JSON object in place of the list")
	return cmd
}

func (o *memoryAudit) run(cmd *cobra.Command) (err error) {
	ctx := cmd.Context()
	if o.org == "" {
		return usageError{errors.New("--org is empty: name the org whose contacts are read, or leave it out for " + calllog.DefaultOrg)}
	}
	db, err := openRecords(ctx, databaseOr(o.database), o.data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	contacts := []string{o.contact}
	if o.contact == "" {
		if contacts, err = db.Contacts(ctx, o.org); err != nil {
			return err
		}
	}
	progress := stageOn(cmd.ErrOrStderr(), "read contact")
	report := auditReport{Findings: []memory.Finding{}}
	for i, contact := range contacts {
		if err := o.read(ctx, db, contact, &report); err != nil {
			return fmt.Errorf("audit contact %d of %d: %w", i+1, len(contacts), err)
		}
		if progress != nil {
			progress(i+1, len(contacts))
		}
	}
	if o.asJSON {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(report)
	}
	return writeAudit(cmd.OutOrStdout(), report)
}

func (o *memoryAudit) read(ctx context.Context, facts memory.Facts, contact string, report *auditReport) error {
	read := facts.Current
	if o.closed {
		read = facts.History
	}
	held, err := read(ctx, o.org, contact)
	if err != nil {
		return err
	}
	if len(held) > 0 {
		report.Contacts++
	}
	report.Facts += len(held)
	report.Findings = append(report.Findings, memory.Audit(contact, held, o.language)...)
	return nil
}

func writeAudit(out io.Writer, r auditReport) error {
	for _, f := range r.Findings {
		if _, err := fmt.Fprintf(out, "%-14s %s  %s\n  %s\n  %s\n", f.Suspicion, f.Contact, f.Fact, f.Text, f.Words); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(out, "%d findings in %d facts of %d contacts\n", len(r.Findings), r.Facts, r.Contacts)
	return err
}
