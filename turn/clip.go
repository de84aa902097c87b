package turn

import (
	"context"
	"fmt"
	"time"

	"headstart/turn/tts"
)

// Clip is a phrase that was synthesised before it is needed.
type Clip struct {
	Text string
	PCM  []int16 // mono
	Rate int     // hertz
}

// Clips are the phrases that a call may need when its voice is dead, or at
// once. A nil one is not spoken.
type Clips struct {
	Greeting *Clip // the words of Greeting.Say
	Fallback *Clip // something of ours failed
	Unheard  *Clip // the caller spoke and no word was understood
	Goodbye  *Clip // we end the call
	Handover *Clip // the caller is passed on to somebody else
	Kept     *Clip // and nobody took them
}

// clipPatience bounds the synthesis of one clip.
const clipPatience = 20 * time.Second

// Synthesise says a text into a clip.
func Synthesise(ctx context.Context, voice Voice, text string, says []tts.Pronunciation) (*Clip, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, clipPatience, fmt.Errorf("synthesise phrase: no answer within %v", clipPatience))
	defer cancel()
	clauses := make(chan string, 1)
	clauses <- tts.Pronounce(says, tts.Speakable(text))
	close(clauses)
	clip := &Clip{Text: text, Rate: voice.Rate()}
	err := voice.Speak(ctx, clauses, func(a tts.Audio) error {
		clip.PCM = append(clip.PCM, a.PCM...)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("synthesise phrase: %w", err)
	}
	if len(clip.PCM) == 0 {
		return nil, fmt.Errorf("synthesise phrase: the voice gave no audio")
	}
	return clip, nil
}

// Phrase names a sentence that every agent can say in its language.
type Phrase int

// The phrases.
const (
	PhraseFallback Phrase = iota // something of ours failed
	PhraseUnheard                // the caller spoke and no word was understood
	PhraseGoodbye                // we end the call
	PhraseHandover               // the caller is passed on to somebody else
	PhraseKept                   // and nobody took them
)

var phrases = map[string][5]string{
	"es": {"Perdone, ahora mismo tengo un problema técnico. ¿Puede repetirlo, por favor?", "Perdone, no le he oído bien. ¿Puede repetirlo?", "Tengo que terminar la llamada. Disculpe las molestias, y vuelva a llamarnos cuando quiera.", "Le paso con un compañero. No cuelgue, por favor.", "No he podido pasarle la llamada. ¿Le puedo ayudar yo en algo más?"},
	"en": {"Sorry, I'm having a technical problem right now. Could you say that again, please?", "Sorry, I didn't hear you well. Could you say that again?", "I have to end this call. I apologise for the inconvenience; please call us again any time.", "I'm putting you through to a colleague. Please hold the line.", "I couldn't put you through. Is there anything else I can help you with?"},
	"pt": {"Desculpe, estou com um problema técnico neste momento. Pode repetir, por favor?", "Desculpe, não ouvi bem. Pode repetir?", "Tenho de terminar a chamada. Desculpe o incómodo, e volte a ligar quando quiser.", "Vou passar a chamada a um colega. Não desligue, por favor.", "Não consegui passar a chamada. Posso ajudar em mais alguma coisa?"},
	"fr": {"Excusez-moi, j'ai un problème technique en ce moment. Pouvez-vous répéter, s'il vous plaît ?", "Excusez-moi, je ne vous ai pas bien entendu. Pouvez-vous répéter ?", "Je dois mettre fin à cet appel. Veuillez nous excuser, et rappelez quand vous voulez.", "Je vous passe un collègue. Ne quittez pas, s'il vous plaît.", "Je n'ai pas pu transférer votre appel. Puis-je vous aider autrement ?"},
	"de": {"Entschuldigung, ich habe gerade ein technisches Problem. Können Sie das bitte wiederholen?", "Entschuldigung, ich habe Sie nicht gut verstanden. Können Sie das wiederholen?", "Ich muss das Gespräch beenden. Bitte entschuldigen Sie, und rufen Sie gern wieder an.", "Ich verbinde Sie mit einem Kollegen. Bitte bleiben Sie dran.", "Ich konnte Sie nicht verbinden. Kann ich Ihnen sonst noch helfen?"},
	"it": {"Mi scusi, in questo momento ho un problema tecnico. Può ripetere, per favore?", "Mi scusi, non ho sentito bene. Può ripetere?", "Devo terminare la chiamata. Ci scusi per il disagio, e richiami quando vuole.", "Le passo un collega. Resti in linea, per favore.", "Non sono riuscito a passarle la chiamata. Posso aiutarla in altro?"},
}

// In is the phrase in a language, given as a BCP 47 tag; English where we have
// no words of it.
func (p Phrase) In(language string) string {
	list, ok := phrases[primary(language)]
	if !ok {
		list = phrases["en"]
	}
	return list[p]
}
