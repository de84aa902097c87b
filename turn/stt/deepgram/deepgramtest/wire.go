package deepgramtest

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
