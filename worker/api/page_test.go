package api_test

import (
	"errors"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"headstart/worker/api"
)

// receptionist greets, and answers every text twice over.
func receptionist() *door {
	d := newDoor()
	d.greeting = []api.Event{
		{Type: api.TypeAgent, There: true}, {Type: api.TypeState, State: "speaking"},
		says(api.WhoAgent, "a-0", "Clínica Norte, buenos días. ¿En qué puedo ayudarle?", true), listening,
	}
	d.reply = func(text string) []api.Event {
		return []api.Event{
			{Type: api.TypeState, State: "thinking"}, {Type: api.TypeState, State: "speaking"},
			says(api.WhoAgent, "a-"+text, "Abrimos de lunes", false),
			says(api.WhoAgent, "a-"+text, "Abrimos de lunes a viernes de 8 a 20 h, y los sábados por la mañana. <b>Sin cita</b>, a partir de las diez.", true), listening,
		}
	}
	return d
}

// lines are what the page shows that was said.
func lines(c *chromium) (shown [][2]string) {
	c.eval(`[...document.querySelectorAll('#transcript li:not(.aside)')].map((e) => [e.className, e.querySelector('.words').textContent])`, &shown)
	return shown
}

func TestThePageBeforeItsBuild(t *testing.T) {
	t.Parallel()
	d := receptionist()
	pages, stop := open(t, d, api.Config{Title: "Clínica Norte", Language: "es-ES", MaxVisits: 1})
	server := httptest.NewServer(pages)
	defer server.Close()
	defer stop()
	c := browse(t)
	c.mood("light")
	c.visit(server.URL, "en-GB", 1200, 760)
	c.await(`document.querySelector('#build-note').textContent.includes('make web')`)
	c.picture("start-light")

	c.click("#text")
	c.write("¿A qué hora abren?")
	c.await(`document.querySelectorAll('#transcript .agent[data-final=true]').length === 2 && document.querySelector('#status').dataset.state === 'listening'`)
	want := [][2]string{
		{"visitor", "¿A qué hora abren?"}, {"agent", "Clínica Norte, buenos días. ¿En qué puedo ayudarle?"},
		{"agent", "Abrimos de lunes a viernes de 8 a 20 h, y los sábados por la mañana. <b>Sin cita</b>, a partir de las diez."},
	}
	// The greeting and what was typed first cross each other.
	if got := lines(c); len(got) == 3 && got[0][0] == "agent" {
		want[0], want[1] = want[1], want[0]
	}
	if diff := cmp.Diff(want, lines(c)); diff != "" {
		t.Fatalf("transcript (-want +got):\n%s", diff)
	}
	c.picture("talk-light")
	c.mood("dark")
	c.picture("talk-dark")
	c.fits(320, 640)
	c.picture("talk-dark-320")
	c.mood("light")
	c.picture("talk-light-320")

	c.size(1200, 760)
	c.click("#hangup")
	c.await(`document.querySelector('#status').dataset.state === 'ended'`)
	c.calm()

	d.deaf = errors.New("not written")
	c.visit(server.URL, "es-ES", 320, 640)
	c.fits(320, 640)
	c.picture("start-light-320")
	c.click("#call")
	c.await(`document.querySelector('#status-text').textContent === 'Escuchando' && document.activeElement.id === 'text'`)
	c.write("¿Y los domingos?")
	c.await(`document.querySelector('#alert').textContent === 'El mensaje no llegó al agente.' && document.querySelector('#text').value === '¿Y los domingos?'`)
	c.picture("undelivered-light-320")
}

// fits fails the test when the page is wider than the window.
func (c *chromium) fits(width, height int) {
	c.t.Helper()
	c.size(width, height)
	var over []string
	c.eval(`[...document.querySelectorAll('body *')].filter((e) => !e.closest('.unseen, [hidden]') && e.getBoundingClientRect().right > innerWidth + 0.5).map((e) => e.tagName + '#' + e.id)`, &over)
	if len(over) > 0 {
		c.picture("too-wide")
		c.t.Fatalf("wider than %d: %v", width, over)
	}
}
