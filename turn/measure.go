package turn

// recordMetrics measures a turn at its first sound. A stage that was
// not passed (a greeting asks no model) costs nothing.
func (s *state) recordMetrics(r *reply) {
	d := r.debt
	if d == nil || d.measured {
		return
	}
	d.measured = true
	m := MetricsTurn{SpeechID: d.id, EndpointingMS: ms(d.committed - d.ended), LookupWaitMS: ms(d.settled - d.committed)}
	last := max(d.settled, r.began)
	m.ToolsMS = ms(last - d.settled)
	for _, part := range []struct {
		stage stage
		field *float64
	}{
		{stageToken, &m.FirstTokenMS}, {stageClause, &m.FirstClauseMS}, {stageByte, &m.FirstByteMS}, {stageSounding, &m.PlayoutMS},
	} {
		if at := r.marks[part.stage]; at > last {
			*part.field = ms(at - last)
			last = at
		}
	}
	m.FirstAudioMS = ms(last - d.ended)
	if d.finalAt > d.ended {
		m.TranscriptMS = ms(d.finalAt - d.ended)
	}
	switch {
	case d.drafted:
		m.Preemptive = "kept"
	case d.unsaid != "":
		m.Preemptive, m.PreemptiveReason = "discarded", d.unsaid
	case d.withheld != "":
		m.Preemptive, m.PreemptiveReason = "withheld", d.withheld
	}
	s.record(m)
}

func (s *state) recordModel(r *reply, use *modelUse) {
	if use == nil {
		return
	}
	u := use.result.Usage
	s.record(MetricsLLM{
		SpeechID: r.speech, Model: use.result.Model,
		PromptTokens: u.PromptTokens, PromptCachedTokens: u.PromptCachedTokens, CompletionTokens: u.CompletionTokens,
		Estimated: use.estimated, TTFTMS: ms(use.ttft), DurationMS: ms(use.took), Cancelled: use.cancelled,
	})
}
