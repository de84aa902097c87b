package stream

import (
	"errors"
	"reflect"
	"sync"
	"unsafe"

	"github.com/livekit/protocol/livekit"
	lksdk "github.com/livekit/server-sdk-go/v2"

	"headstart/turn/crew"
)

// ErrLayout says that the SDK no longer looks as Tap knows it.
var ErrLayout = errors.New("the SDK's room has changed: its text streams cannot be tapped")

// Ears hear the streams of a room, from the SDK's goroutines, one at a time.
type Ears struct {
	Text      func(Update)    // every update of every text stream
	Topic     string          // of the byte streams that are heard, if any
	Recording func(Recording) // every complete byte stream of that topic
	Burst     func(error)     // a panic while a stream was heard; nil is for who does not want to know
}

// Tap gives the streams that reach room to ears. Call it before the room joins.
//
// The SDK writes a trailer's attributes into the map of the header without
// looking whether it is there, so that two packets of any participant could
// stop the process, and it offers no way in between. So this reaches through
// its private fields; the test of this package and the error hold it to the
// version in go.mod.
func Tap(room *lksdk.Room, ears Ears) error {
	engine := reflect.ValueOf(room).Elem().FieldByName("engine")
	if !engine.IsValid() || engine.Kind() != reflect.Pointer || engine.IsNil() || engine.Type().Elem().Kind() != reflect.Struct {
		return ErrLayout
	}
	handler := engine.Elem().FieldByName("engineHandler")
	tap := reflect.ValueOf(&tapped{Room: room, ears: ears, bytes: Collector{Topic: ears.Topic}})
	if !handler.IsValid() || handler.Kind() != reflect.Interface || !tap.Type().Implements(handler.Type()) {
		return ErrLayout
	}
	reflect.NewAt(handler.Type(), unsafe.Pointer(handler.UnsafeAddr())).Elem().Set(tap)
	return nil
}

// tapped is a room whose text streams go elsewhere. The SDK calls it from the
// goroutine of one data channel; the lock is for the moment when a reconnected
// room has two.
type tapped struct {
	*lksdk.Room
	ears Ears

	lock  sync.Mutex // guards what follows
	texts Assembler
	bytes Collector
}

// OnStreamHeader stands before the SDK's own.
func (t *tapped) OnStreamHeader(h *livekit.DataStream_Header, identity string) {
	t.hear(func() {
		t.text(t.texts.Header(h, identity))
		t.recording(t.bytes.Header(h, identity))
	})
}

// hear keeps a panic from the SDK's goroutine, on which nobody would catch it.
func (t *tapped) hear(packet func()) {
	t.lock.Lock()
	defer t.lock.Unlock()
	if err := crew.Guard(func() error { packet(); return nil }); err != nil && t.ears.Burst != nil {
		t.ears.Burst(err)
	}
}

// OnStreamChunk stands before the SDK's own.
func (t *tapped) OnStreamChunk(c *livekit.DataStream_Chunk) {
	t.hear(func() {
		t.text(t.texts.Chunk(c))
		t.bytes.Chunk(c)
	})
}

// OnStreamTrailer stands before the SDK's own.
func (t *tapped) OnStreamTrailer(trailer *livekit.DataStream_Trailer) {
	t.hear(func() {
		t.text(t.texts.Trailer(trailer))
		t.recording(t.bytes.Trailer(trailer))
	})
}

func (t *tapped) text(u Update, ok bool) {
	if ok {
		t.ears.Text(u)
	}
}

func (t *tapped) recording(r Recording, ok bool) {
	if ok && t.ears.Recording != nil {
		t.ears.Recording(r)
	}
}
