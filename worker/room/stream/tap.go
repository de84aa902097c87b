package stream

import (
	"errors"
	"reflect"
	"sync"
	"unsafe"

	"github.com/livekit/protocol/livekit"
	lksdk "github.com/livekit/server-sdk-go/v2"
)

// ErrLayout says that the SDK no longer looks as Tap knows it.
var ErrLayout = errors.New("the SDK's room has changed: its text streams cannot be tapped")

// Tap gives every update of every text stream that reaches room to hear, from
// the SDK's goroutines, one at a time. Call it before the room joins.
//
// The SDK writes a trailer's attributes into the map of the header without
// looking whether it is there, so that two packets of any participant could
// stop the process, and it offers no way in between. So this reaches through
// its private fields; the test of this package and the error hold it to the
// version in go.mod.
func Tap(room *lksdk.Room, hear func(Update)) error {
	engine := reflect.ValueOf(room).Elem().FieldByName("engine")
	if !engine.IsValid() || engine.Kind() != reflect.Pointer || engine.IsNil() || engine.Type().Elem().Kind() != reflect.Struct {
		return ErrLayout
	}
	handler := engine.Elem().FieldByName("engineHandler")
	tap := reflect.ValueOf(&tapped{Room: room, hear: hear})
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
	hear func(Update)

	lock sync.Mutex // guards Assembler
	Assembler
}

// OnStreamHeader stands before the SDK's own.
func (t *tapped) OnStreamHeader(h *livekit.DataStream_Header, identity string) {
	t.pass(func() (Update, bool) { return t.Header(h, identity) })
}

// OnStreamChunk stands before the SDK's own.
func (t *tapped) OnStreamChunk(c *livekit.DataStream_Chunk) {
	t.pass(func() (Update, bool) { return t.Chunk(c) })
}

// OnStreamTrailer stands before the SDK's own.
func (t *tapped) OnStreamTrailer(trailer *livekit.DataStream_Trailer) {
	t.pass(func() (Update, bool) { return t.Trailer(trailer) })
}

func (t *tapped) pass(step func() (Update, bool)) {
	t.lock.Lock()
	defer t.lock.Unlock()
	if u, ok := step(); ok {
		t.hear(u)
	}
}
