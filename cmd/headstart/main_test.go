package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"headstart/store/postgres/postgrestest"
	"headstart/worker/devserver/devservertest"
	"headstart/worker/room"
)

// patience bounds every wait for something that is to happen at last.
const patience = time.Minute

// asMain makes a test binary be headstart itself, for tests of a whole process.
const asMain = "HEADSTART_TEST_AS_MAIN"

func TestMain(m *testing.M) {
	for _, env := range []string{"HEADSTART_HEALTH_ADDR", "HEADSTART_API_ADDR"} { // no test takes a fixed port
		if _, ok := os.LookupEnv(env); !ok {
			os.Setenv(env, "off")
		}
	}
	if os.Getenv(asMain) != "" {
		main()
		return
	}
	room.SilenceSDK()
	goleak.VerifyTestMain(postgrestest.Main(m))
}

// command runs a command line in this process.
func command(t *testing.T, args ...string) (stdout string, err error) {
	t.Helper()
	root := rootCommand()
	var out bytes.Buffer
	root.SetArgs(args)
	root.SetOut(&out)
	root.SetErr(&out)
	err = root.ExecuteContext(t.Context())
	return out.String(), err
}

// agentFile writes an agent that needs no key.
func agentFile(t *testing.T, change func(string) string) string {
	t.Helper()
	text := "name: prueba\nlanguage: es-ES\nstt: {provider: replay, options: {dir: ../../testdata/calls}}\nllm: {provider: extractive}\nvoice: {provider: builtin}\n"
	if change != nil {
		text = change(text)
	}
	path := filepath.Join(t.TempDir(), "agent.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestUsage(t *testing.T) {
	for _, env := range []string{"LIVEKIT_URL", "LIVEKIT_API_KEY", "LIVEKIT_API_SECRET"} {
		t.Setenv(env, "")
	}
	file := agentFile(t, nil)
	reads := agentFile(t, func(s string) string { return s + "docs: {base: tarifas}\n" })
	t.Setenv("LIVEKIT_API_KEY", "key")
	for _, tt := range []struct {
		name string
		args []string
		says []string // in the error
	}{
		{"an unknown flag", []string{"start", "--nope"}, []string{"nope"}},
		{"no server", []string{"start", "--agent", file}, []string{"LIVEKIT_URL is not set", "LIVEKIT_API_SECRET is not set"}},
		{"words too many", []string{"start", "now"}, []string{"no arguments"}},
		{"no model of that name", []string{"models", "pull", "whisper"}, []string{"whisper", "models list"}},
		{"a command that is none", []string{"memory", "audti"}, []string{`headstart memory has no command "audti"`, "audit"}},
		{"a command of none", []string{"docs", "x"}, []string{`headstart docs has no command "x"`, "headstart docs --help"}},
		{"a web demo with figures", []string{"demo", "--web", "--json", "x"}, []string{"--web"}},
		{"no samples", []string{"demo", "--testdata", t.TempDir()}, []string{"agents"}},
		{"an unknown fault", []string{"fakes", "--fault", "eyes=blind"}, []string{"stt, llm, tts, aura and embed"}},
		{"an agent that is not there", []string{"dev", "--url", "ws://127.0.0.1:1", "--agent", "nope.yaml"}, []string{"LIVEKIT_API_SECRET"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := command(t, tt.args...)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range tt.says {
				if !strings.Contains(err.Error(), want) {
					t.Fatalf("the error does not tell %q: %v", want, err)
				}
			}
		})
	}
	t.Setenv("LIVEKIT_API_SECRET", "secret")
	if _, err := command(t, "start", "--url", "ws://127.0.0.1:1", "--agent", reads, "--data", t.TempDir()); err == nil || !strings.Contains(err.Error(), "--base tarifas=DIR") {
		t.Fatalf("a base without a folder: %v", err)
	}
	if code := run(t.Context(), []string{"start", "--nope"}); code != exitUsage {
		t.Fatalf("exit code %d of a usage error, want %d", code, exitUsage)
	}
}

func TestEveryCommandHasHelpWithAnExample(t *testing.T) {
	for _, cmd := range rootCommand().Commands() {
		if !cmd.HasSubCommands() && cmd.Name() != "help" && cmd.Name() != "completion" && cmd.Example == "" {
			t.Errorf("%s has no example", cmd.Name())
		}
	}
}

func TestSecretsAreMasked(t *testing.T) {
	s := settings{apiSecret: "supersecretvalue-1234", apiKey: "short"}
	for _, f := range s.fields() {
		if strings.Contains(f.String, "secretvalue") || f.Key == "livekit_api_key" && f.String != "***" {
			t.Fatalf("field %s tells %q", f.Key, f.String)
		}
	}
}

func TestStartSaysWhichToCheck(t *testing.T) {
	server := devservertest.Start(t)
	for _, tt := range []struct {
		name             string
		url, key, secret string
		says             []string
	}{
		{"a wrong secret", server.URL, server.APIKey, strings.Repeat("x", 40), []string{"refused", server.URL}},
		{"a wrong key", server.URL, "nobody", server.APISecret, []string{"refused"}},
		{"nobody there", "ws://127.0.0.1:1", server.APIKey, server.APISecret, []string{"cannot be reached", "ws://127.0.0.1:1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("LIVEKIT_API_KEY", tt.key)
			t.Setenv("LIVEKIT_API_SECRET", tt.secret)
			_, err := command(t, "start", "--url", tt.url, "--agent", agentFile(t, nil), "--data", t.TempDir())
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range tt.says {
				if !strings.Contains(err.Error(), want) {
					t.Fatalf("the error does not tell %q: %v", want, err)
				}
			}
		})
	}
}

func TestLogListsAndPrints(t *testing.T) {
	data := taughtData(t, nil)
	out, err := command(t, "log", "--data", data)
	if err != nil || !strings.Contains(out, "no calls yet") {
		t.Fatalf("an empty log: %q, %v", out, err)
	}
	if _, err := command(t, "log", "call-nope", "--data", data); err == nil || !strings.Contains(err.Error(), "no call call-nope") {
		t.Fatalf("a call that is not there: %v", err)
	}
	writeCallLog(t, data, "call-1")
	if out, err = command(t, "log", "--data", data); err != nil || !strings.Contains(out, "call-1") {
		t.Fatalf("the list: %q, %v", out, err)
	}
	for _, args := range [][]string{{"log", "call-1"}, {"log", "call-1", "--follow"}, {"log", "call-1", "--json"}} {
		out, err = command(t, append(args, "--data", data)...)
		if err != nil || !strings.Contains(out, "call.started") || !strings.Contains(out, "call.summary") {
			t.Fatalf("%v: %q, %v", args, out, err)
		}
	}
	if out, err = command(t, "log", "call-1", "--after", "1", "--data", data); err != nil || strings.Contains(out, "call.started") {
		t.Fatalf("after 1: %q, %v", out, err)
	}
}
