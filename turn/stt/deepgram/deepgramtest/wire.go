package deepgramtest

import "encoding/json"

// The messages of the server, as Deepgram writes them. They are written apart
// from the client's reading of them, so that one mistake cannot hide the other.

type results struct {
	Type         string   `json:"type"`
	ChannelIndex []int    `json:"channel_index"`
	Start        float64  `json:"start"`
	Duration     float64  `json:"duration"`
	IsFinal      bool     `json:"is_final"`
	SpeechFinal  bool     `json:"speech_final"`
	FromFinalize bool     `json:"from_finalize"`
	Channel      channel  `json:"channel"`
	Metadata     metadata `json:"metadata"`
}

type channel struct {
	Alternatives []alternative `json:"alternatives"`
}

type alternative struct {
	Transcript string     `json:"transcript"`
	Confidence float64    `json:"confidence"`
	Languages  []string   `json:"languages,omitempty"`
	Words      []wireWord `json:"words"`
}

type wireWord struct {
	Word           string  `json:"word"`
	PunctuatedWord string  `json:"punctuated_word"`
	Start          float64 `json:"start"`
	End            float64 `json:"end"`
	Confidence     float64 `json:"confidence"`
}

type metadata struct {
	RequestID string `json:"request_id"`
	ModelUUID string `json:"model_uuid"`
}

type speechStarted struct {
	Type      string  `json:"type"`
	Channel   []int   `json:"channel"`
	Timestamp float64 `json:"timestamp"`
}

type utteranceEnd struct {
	Type        string  `json:"type"`
	Channel     []int   `json:"channel"`
	LastWordEnd float64 `json:"last_word_end"`
}

type closing struct {
	Type           string  `json:"type"`
	TransactionKey string  `json:"transaction_key"`
	RequestID      string  `json:"request_id"`
	SHA256         string  `json:"sha256"`
	Created        string  `json:"created"`
	Duration       float64 `json:"duration"`
	Channels       int     `json:"channels"`
}

type refusal struct {
	Code      string `json:"err_code"`
	Message   string `json:"err_msg"`
	RequestID string `json:"request_id"`
}

// failure is how both versions give up.
type failure struct {
	Type        string `json:"type"`
	SequenceID  int    `json:"sequence_id"`
	Code        string `json:"code"`
	Description string `json:"description"`
}

type connected struct {
	Type       string `json:"type"`
	RequestID  string `json:"request_id"`
	SequenceID int    `json:"sequence_id"`
}

type turnInfo struct {
	Type       string     `json:"type"`
	RequestID  string     `json:"request_id"`
	SequenceID int        `json:"sequence_id"`
	Event      string     `json:"event"`
	Turn       int        `json:"turn_index"`
	From       float64    `json:"audio_window_start"`
	Until      float64    `json:"audio_window_end"`
	Transcript string     `json:"transcript"`
	Words      []fluxWord `json:"words"`
	Confidence float64    `json:"end_of_turn_confidence"`
	Languages  []string   `json:"languages,omitempty"`
}

type fluxWord struct {
	Word       string  `json:"word"`
	Confidence float64 `json:"confidence"`
	Start      float64 `json:"start"`
	End        float64 `json:"end"`
}

type configured struct {
	Type       string          `json:"type"`
	RequestID  string          `json:"request_id"`
	SequenceID int             `json:"sequence_id"`
	Thresholds json.RawMessage `json:"thresholds,omitempty"`
	Keyterms   []string        `json:"keyterms,omitempty"`
	Hints      []string        `json:"language_hints,omitempty"`
}
