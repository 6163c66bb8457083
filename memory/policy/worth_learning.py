"""Whether a message can hold anything lasting: a cheap rule that spares a model call for small talk.

Invariant: it errs on yes. No is said only to text that is nothing but greetings, thanks and acknowledgements, a
command, signs, or short English questions in which the speaker does not appear.
"""

from __future__ import annotations

import re

from memory.policy.text import clean

# A bare "yes" or "no" is no small talk: it may confirm what the bot asked.
_SMALL_TALK_WORDS = """
    hi hello hey heya hiya yo howdy greetings morning afternoon evening night good gm gn goodnight bye goodbye cya later
    laters farewell sup hola welcome there again everyone all friend bot buddy keepsake please pls
    thanks thank thx ty tysm cheers you u much so very lot lots million appreciated a and for the that your help
    ok okay okey k kk alright aight cool nice great awesome perfect excellent wonderful amazing brilliant fantastic
    lovely sweet neat sure fine gotcha got it understood noted roger lol lmao rofl haha hahaha hehe hihi wow whoa omg
    oh ah aha hm hmm mhm ooh yay woohoo hooray interesting is sounds to me makes sense one test testing ping
    hallo moin servus tschüss ciao guten morgen tag abend nacht gute danke dankeschön vielen dank dir bitte super
    prima toll alles klar gut schön genau verstanden bis dann bald später
    bonjour salut bonsoir coucou merci beaucoup bien au revoir à bientôt d'accord parfait génial
    buenos buenas días tardes noches gracias muchas muy bueno vale adiós hasta luego genial perfecto
    buongiorno buonasera salve grazie mille bene arrivederci perfetto va
    olá oi bom dia boa tarde noite obrigado obrigada tchau valeu beleza
    hoi goedemorgen goedenavond dag dank je wel bedankt doei prima hej tack tak hei kiitos takk
    cześć dzień dobry dzięki dziękuję ahoj děkuji merhaba selam teşekkürler teşekkür ederim günaydın sağol
    привет здравствуйте здравствуй спасибо большое пока хорошо ладно понятно ясно доброе утро добрый день вечер
    مرحبا السلام عليكم شكرا حسنا नमस्ते धन्यवाद ठीक है שלום תודה xin chào cảm ơn halo terima kasih
    안녕 안녕하세요 감사합니다 고마워 고마워요 네 ㅋㅋ ㅋㅋㅋ ㅎㅎ
"""
_SMALL_TALK = frozenset(_SMALL_TALK_WORDS.split())
_UNSPACED_SMALL_TALK = re.compile(
    r"(?:こんにちは|こんばんは|おはよう|おやすみ|ありがとう|ございます|どうも|了解|です|はい|さようなら|またね|すごい|いいね|笑"
    r"|你好|您好|谢谢|謝謝|早上好|早安|晚安|再见|再見|好的|好|嗯|哈|收到|明白了|知道了|了|啊|呀|吧|你|您|ね|よ|w|ー)+\Z"
)
_COMMAND = re.compile(r"[/!][A-Za-z][\w-]*(?:\s|\Z)")
_SIGN = re.compile(r"[^\W_]")
_EMOJI_NAME = re.compile(r":[a-z0-9_+-]+:|<a?:\w+:\d+>")
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_LAUGHTER = re.compile(r"(?:h+[aei]+){2,}h*|(?:j+a+){2,}|x+d+|l+o+l+")

_LONGEST_QUESTION = 200  # characters; a longer one tells something about who asks
_QUESTION = re.compile(
    r"(?:(?:and|but|so|ok|okay|hey|hi|please|keepsake)[, ]+)*"
    r"(?:what|when|where|which|who|whom|whose|why|how|is|are|was|were|do|does|did|can|could|will|would|should|has|have)"
    r"(?:'s|’s|'re)?\b[^?.!\n]*\?+",
    re.IGNORECASE,
)
_SPEAKER = re.compile(
    r"\b(?:i|i'\w+|i’\w+|im|ive|me|my|mine|myself|we|we'\w+|we’\w+|us|our|ours|ourselves)\b", re.IGNORECASE
)


def worth_learning(text: str) -> bool:
    """Whether a model should look for lasting facts in what a person said."""
    text = clean(_EMOJI_NAME.sub(" ", text))
    if not _SIGN.search(text) or _COMMAND.match(text):
        return False
    return not _is_small_talk(text) and not _only_asks(text)


def _is_small_talk(text: str) -> bool:
    words = _WORD.findall(text.casefold())
    signs = "".join(_SIGN.findall(text.casefold()))
    if _UNSPACED_SMALL_TALK.match(signs):
        return True
    if not words or not all(word in _SMALL_TALK or _LAUGHTER.fullmatch(word) for word in words):
        return False
    return not any(sign.isdecimal() for sign in signs)


def _only_asks(text: str) -> bool:
    if len(text) > _LONGEST_QUESTION or _SPEAKER.search(text):
        return False
    return not _QUESTION.sub("", text).strip()
