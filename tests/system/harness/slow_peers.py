"""A remote server for thousands of sessions at a time that answers no step before it is told to: so every one of them
can be found waiting at the same step. One thread, no clock."""
import asyncio
import threading
from collections import Counter, defaultdict

STEPS = ("banner", "EHLO", "MAIL", "RCPT", "DATA", "dot")
REPLIES = {"banner": "220 slow.example ESMTP", "EHLO": "250 slow.example", "MAIL": "250 2.1.0 Ok", "RCPT": "250 2.1.5 Ok",
           "DATA": "354 Go on", "dot": "250 2.0.0 Ok"}


class SlowPeers:
    def __init__(self, address, port):
        self.address, self.port = address, port
        self.waiting = defaultdict(list)  # by step: those to be answered
        self.released = set()
        self.messages = Counter()  # by recipient
        self.loop = asyncio.new_event_loop()
        ready = threading.Event()
        self.thread = threading.Thread(target=self.run, args=(ready,), daemon=True)
        self.thread.start()
        assert ready.wait(30)

    def run(self, ready):
        asyncio.set_event_loop(self.loop)

        async def listen():
            self.server = await asyncio.start_server(self.session, self.address, self.port, backlog=8192)
            ready.set()
        self.loop.run_until_complete(listen())
        self.loop.run_forever()
        # Sessions that wait still are ended here: nobody else would, and each would complain at the very end.
        sessions = asyncio.all_tasks(self.loop)
        for session in sessions:
            session.cancel()
        self.loop.run_until_complete(asyncio.gather(*sessions, return_exceptions=True))
        self.loop.close()

    def at(self, step):
        """How many wait there."""
        return len(self.waiting[step])

    def release(self, step):
        """They are answered, and so is at once who comes later."""
        def answer():
            self.released.add(step)
            for each in self.waiting.pop(step, []):
                each.set_result(None)
        self.loop.call_soon_threadsafe(answer)

    async def answer(self, step, writer):
        if step not in self.released:
            turn = self.loop.create_future()
            self.waiting[step].append(turn)
            await turn
        writer.write(REPLIES[step].encode() + b"\r\n")

    async def session(self, reader, writer):
        recipient = b""
        try:
            await self.answer("banner", writer)
            while line := await reader.readline():
                word = line[:4].decode().upper()
                if word == "QUIT":
                    writer.write(b"221 2.0.0 Bye\r\n")
                    break
                if word == "RCPT":
                    recipient = line[line.index(b"<") + 1:line.index(b">")]
                await self.answer(word, writer)
                if word == "DATA":
                    await reader.readuntil(b"\r\n.\r\n")
                    await self.answer("dot", writer)
                    self.messages[recipient.decode()] += 1
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    def stop(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(30)
