"""A policy server on loopback: answers each question as `answer(question)` says (a dict in, an action out; None hangs)."""
from .listener import Listener


class PolicyServer(Listener):
    def __init__(self, address, port, answer=lambda question: "DUNNO"):
        self.answer, self.questions = answer, []
        super().__init__(address, port)

    def serve(self, one):
        with one, one.makefile("rw", encoding="utf-8", newline="\n") as stream:
            question = {}
            for line in stream:
                if line != "\n":
                    name, _, value = line.rstrip("\n").partition("=")
                    question[name] = value
                    continue
                self.questions.append(question)
                said = self.answer(question)
                question = {}
                if said is None:
                    continue
                try:
                    stream.write(said if said.endswith("\n\n") else f"action={said}\n\n")
                    stream.flush()
                except OSError:
                    return
