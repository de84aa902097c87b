package turn

import "errors"

// ErrPassedOn: the caller is being passed on to somebody else.
var ErrPassedOn = errors.New("the caller is being passed on")

// HandOver has the agent say that the caller is passed on, and nothing after
// that: what the caller says meanwhile is heard, and answered if they are kept.
// Said is closed once the phrase is over, or at once when there is nothing to
// say. A conversation that is on its way out closes it too, or just ends.
type HandOver struct{ Said chan<- struct{} }

// Keep tells a conversation that was handed over that nobody took the caller:
// the agent says so, and goes on.
type Keep struct{}

func (m HandOver) occurrence() occurrence { return handedOver{m.Said} }
func (Keep) occurrence() occurrence       { return kept{} }

// handover is how far the passing on of the caller has come.
type handover struct {
	said  chan<- struct{}
	begun bool // the phrase was, and said is closed after it
	kept  bool // nobody took the caller
}

func (s *state) onHandedOver(o handedOver) {
	if s.handover != nil || s.farewell != nil {
		s.do(inform(o))
		return
	}
	s.handover = &handover{said: o.said}
	s.dropDraft(ErrPassedOn.Error())
	if s.reply != nil {
		s.stopReply(ErrPassedOn) // advance goes on once it has stopped
	}
}

func (s *state) onKept() {
	if s.handover != nil {
		s.handover.kept = true
	}
}

// onHandoverSaid: the phrase is over, however much of it was heard.
func (s *state) onHandoverSaid(r *reply) {
	if h := s.handover; h != nil && !r.interruptible {
		s.do(inform{h.said})
	}
}

// passOn says what is to be said of the passing on, and is silent otherwise.
func (s *state) passOn() {
	h := s.handover
	switch {
	case h.kept:
		s.handover = nil
		if !s.sayClip(&reply{kind: KindHandover, interruptible: true}, s.cfg.Clips.Kept) {
			s.advance()
		}
	case !h.begun:
		h.begun = true
		if !s.sayClip(&reply{kind: KindHandover}, s.cfg.Clips.Handover) {
			s.do(inform{h.said})
		}
	}
}
