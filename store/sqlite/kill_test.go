package sqlite_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/zap"

	"headstart/store/sqlite"
	"headstart/turn"
	"headstart/worker/calllog"
)

var (
	killRounds = flag.Int("sqlite.kills", 10, "workers to kill")
	killSeed   = flag.Uint64("sqlite.seed", 7, "of the moments when they are killed")
)

// A scripted call in a child process is killed at random moments, and so is the
// first recovery of it. Each entry that Append returned from is in the store at
// the end, under its own seq; the log is closed once, with reason "error".
func TestKilledWorkerLosesNothing(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(*killSeed, *killSeed))
	for round := range *killRounds {
		dir := t.TempDir()
		acked := killAfter(t, dir, "call", 1+random.IntN(700))
		killAfter(t, dir, "recover", random.IntN(3))
		checkKilled(t, round, dir, acked)
	}
}

// killAfter runs a child until it has printed so many lines, kills it, and
// returns all the lines that it got out.
func killAfter(t *testing.T, dir, mode string, lines int) []string {
	t.Helper()
	command := exec.CommandContext(t.Context(), os.Args[0], "-sqlite.child", mode+":"+dir)
	command.Stderr = os.Stderr
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatalf("pipe: %v", err)
	}
	if err := command.Start(); err != nil {
		t.Fatalf("start child: %v", err)
	}
	var got []string
	scanner := bufio.NewScanner(out)
	for len(got) < lines && scanner.Scan() {
		got = append(got, scanner.Text())
	}
	if err := command.Process.Kill(); err != nil {
		t.Fatalf("kill child: %v", err)
	}
	for scanner.Scan() {
		got = append(got, scanner.Text())
	}
	if err := command.Wait(); err == nil {
		t.Fatalf("child ended by itself")
	}
	return got
}

func checkKilled(t *testing.T, round int, dir string, acked []string) {
	t.Helper()
	db := open(t, filepath.Join(dir, "headstart.db"))
	book := recoverAll(t, dir, db)
	if err := book.Close(); err != nil {
		t.Fatalf("close book: %v", err)
	}
	page, err := db.Entries(t.Context(), calllog.DefaultOrg, "call", 0, 1_000_000)
	if err != nil {
		t.Fatalf("read log: %v", err)
	}
	stored := map[string]string{}
	ends := map[string]int{}
	for _, entry := range page.Entries {
		stored[strconv.FormatInt(entry.Seq, 10)] = entry.Type
		ends[entry.Type]++
	}
	last := int64(0)
	for _, line := range acked {
		seq, kind, whole := strings.Cut(line, " ")
		if !whole || kind == "" {
			continue // the kill tore the line
		}
		if last, err = strconv.ParseInt(seq, 10, 64); err != nil {
			t.Fatalf("read child's line %q: %v", line, err)
		}
		got, found := stored[seq]
		if kind == "vad" && found {
			t.Fatalf("round %d: seq %s of an ephemeral entry was used again, by %s", round, seq, got)
		}
		if kind != "vad" && got != kind {
			t.Fatalf("round %d: entry %s %s was acknowledged and is %q in the store", round, seq, kind, got)
		}
	}
	n := len(page.Entries)
	if ends["call.ended"] != 1 || ends["call.summary"] != 1 || page.Entries[n-1].Type != "call.summary" || page.Highest <= last {
		t.Fatalf("round %d: log ends %v, last %+v, highest %d after %d", round, ends, page.Entries[n-1], page.Highest, last)
	}
	call, err := db.Call(t.Context(), calllog.DefaultOrg, "call")
	if err != nil || !call.Sealed || call.Reason != "error" {
		t.Fatalf("round %d: call %+v, %v", round, call, err)
	}
	left, err := filepath.Glob(filepath.Join(dir, "spool", "*"))
	if err != nil || len(left) != 0 {
		t.Fatalf("round %d: spools left %v, %v", round, left, err)
	}
}

// recoverAll plays the next start until the store has all.
func recoverAll(t *testing.T, dir string, db *sqlite.DB) *calllog.Book {
	t.Helper()
	book, err := calllog.Open(calllog.Config{Dir: filepath.Join(dir, "spool")}, db, zap.NewNop())
	if err != nil {
		t.Fatalf("open book: %v", err)
	}
	if _, err := book.Recover(t.Context()); err != nil {
		t.Fatalf("recover: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel() // what is left goes in the last attempt
	if err := book.Run(ended); err != nil {
		t.Fatalf("run: %v", err)
	}
	return book
}

// playWorker is the child: "call:DIR" appends for ever and prints "seq type"
// after each Append, "recover:DIR" starts over and prints its steps.
func playWorker(arguments string) int {
	mode, dir, _ := strings.Cut(arguments, ":")
	ctx := context.Background()
	db, err := sqlite.Open(ctx, filepath.Join(dir, "headstart.db"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	cfg := calllog.Config{Dir: filepath.Join(dir, "spool"), FlushEvery: 1e6, Batch: 16}
	book, err := calllog.Open(cfg, db, zap.NewNop())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if mode == "recover" {
		fmt.Println("opened")
		if _, err := book.Recover(ctx); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		fmt.Println("recovered")
		return running(ctx, book)
	}
	go running(ctx, book)
	return talk(book)
}

func running(ctx context.Context, book *calllog.Book) int {
	if err := book.Run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return 1
}

func talk(book *calllog.Book) int {
	log, err := book.Begin("call", "clinica")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for seq := int64(1); ; seq++ {
		var event turn.Event = turn.TurnUser{Text: strings.Repeat("palabra ", int(seq%40))}
		if seq%3 == 0 {
			event = turn.VAD{Speaking: true}
		}
		log.Append(event)
		fmt.Printf("%d %s\n", seq, event.EventType())
	}
}
