// What the page says, in the language of who reads it.

const spanish = {
  ready: 'Listo', joining: 'Conectando…', waiting: 'Esperando al agente…', initializing: 'El agente se prepara…',
  idle: 'En espera', listening: 'Escuchando', thinking: 'Pensando…', speaking: 'Hablando', reconnecting: 'Reconectando…', ended: 'Terminada',
  titleVoice: 'Habla con el agente', titleTyped: 'Escribe al agente',
  leadVoice: 'Pulsa Llamar y habla con naturalidad. También puedes escribir.',
  leadTyped: 'Pregunta lo que quieras; el agente contesta aquí mismo.',
  call: 'Llamar', chat: 'Empezar', hangup: 'Colgar', leave: 'Terminar', mute: 'Silenciar', unmute: 'Activar micro', microphone: 'Hablar', sound: 'Activar el sonido',
  you: 'Tú', agent: 'Agente', conversation: 'Conversación', empty: 'Aquí verás lo que se dice.',
  message: 'Mensaje para el agente', placeholder: 'Escribe un mensaje…', send: 'Enviar',
  undelivered: 'No entregado', failed: 'No se pudo entregar: ',
  build: 'La voz necesita un paso de compilación: {code}. Mientras tanto puedes escribir.',
  agentLeft: 'El agente ha salido.',
  problems: {
    refused: 'El navegador no permite usar el micrófono. Permítelo en los ajustes del sitio y vuelve a llamar; mientras, puedes escribir.',
    missing: 'No se ha encontrado ningún micrófono. Conecta uno, o escribe.',
    busy: 'Otra aplicación está usando el micrófono. Ciérrala y vuelve a intentarlo, o escribe.',
    insecure: 'El navegador solo permite el micrófono en https o en localhost. Puedes escribir.',
    microphone: 'El micrófono ha fallado. Vuelve a intentarlo, o escribe.',
    unreachable: 'No se puede llegar al servidor de LiveKit. ¿Está en marcha?',
    offline: 'Esta página no llega a su servidor. ¿Sigue en marcha?',
    library: 'No se pudo cargar la parte de voz de la página.',
    absent: 'Ningún agente ha contestado todavía. ¿Hay un worker en marcha?',
    full: 'Todas las líneas están ocupadas. Inténtalo de nuevo dentro de unos minutos.',
    closed: 'Ahora no se admiten visitas.',
    long: 'El mensaje es demasiado largo.',
    undelivered: 'El mensaje no llegó al agente.',
    visit: 'La conversación ya ha terminado.',
    other: 'Algo ha fallado. Inténtalo de nuevo.',
  },
  endings: {
    hung_up: 'Has colgado.', left: 'El agente ha terminado la conversación.', lost: 'Se perdió la conexión.',
    idle: 'Terminada tras diez minutos sin mensajes.', unwatched: 'Terminada porque la página estuvo cerrada.', closing: 'El servidor se ha detenido.',
    elsewhere: 'La conversación sigue en otra ventana.',
  },
};

const english = {
  ready: 'Ready', joining: 'Connecting…', waiting: 'Waiting for the agent…', initializing: 'The agent is getting ready…',
  idle: 'Idle', listening: 'Listening', thinking: 'Thinking…', speaking: 'Speaking', reconnecting: 'Reconnecting…', ended: 'Ended',
  titleVoice: 'Talk to the agent', titleTyped: 'Write to the agent',
  leadVoice: 'Press Call and speak as you would on the phone. You can type, too.',
  leadTyped: 'Ask whatever you like; the agent answers right here.',
  call: 'Call', chat: 'Start', hangup: 'Hang up', leave: 'End', mute: 'Mute', unmute: 'Unmute', microphone: 'Speak', sound: 'Turn on sound',
  you: 'You', agent: 'Agent', conversation: 'Conversation', empty: 'What is said will appear here.',
  message: 'Message to the agent', placeholder: 'Type a message…', send: 'Send',
  undelivered: 'Not delivered', failed: 'Could not be delivered: ',
  build: 'Voice needs one build step: {code}. Until then you can type.',
  agentLeft: 'The agent has left.',
  problems: {
    refused: 'The browser may not use the microphone. Allow it in the site’s settings and call again; meanwhile you can type.',
    missing: 'No microphone was found. Plug one in, or type.',
    busy: 'Another program is using the microphone. Close it and try again, or type.',
    insecure: 'Browsers give the microphone only to pages on https or localhost. You can type.',
    microphone: 'The microphone failed. Try again, or type.',
    unreachable: 'The LiveKit server cannot be reached. Is it running?',
    offline: 'This page cannot reach its server. Is it still running?',
    library: 'The voice part of the page could not be loaded.',
    absent: 'No agent has answered yet. Is a worker running?',
    full: 'All lines are busy. Try again in a few minutes.',
    closed: 'No visits are taken now.',
    long: 'The message is too long.',
    undelivered: 'The message did not reach the agent.',
    visit: 'The conversation is over.',
    other: 'Something went wrong. Try again.',
  },
  endings: {
    hung_up: 'You hung up.', left: 'The agent ended the conversation.', lost: 'The connection was lost.',
    idle: 'Ended after ten minutes without a message.', unwatched: 'Ended because the page was closed.', closing: 'The server has stopped.',
    elsewhere: 'The conversation goes on in another window.',
  },
};

/** The tag of the page's own language: the reader's first that there are words for. */
export const language = (navigator.languages ?? [navigator.language]).map((tag) => tag.slice(0, 2)).find((tag) => tag === 'es' || tag === 'en') ?? 'en';

export const words = language === 'es' ? spanish : english;
