"""Several nodes, each a whole Postrider with a spool and ports of its own, that may move messages to one another."""
from .http_api import Api
from .mta import Mta
from .ports import Block
from .watch import wait_until


class Nodes:
    def __init__(self, folder):
        self.folder, self.all, self.apis, self.tokens = folder, {}, {}, {}

    def add(self, name, start=True):
        """A node whose API takes messages; it runs unless it is only configured."""
        place = self.folder / name
        place.mkdir()
        node = self.all[name] = Mta(place, Block())
        node.config["mta"]["node"] = name
        node.config["history"] = {"sync": "20ms"}
        self.apis[name] = Api(node)
        if start:
            node.start()
            self.invite(name)
        return node

    def invite(self, name):
        """Makes the token with which other nodes send messages to this one, which runs."""
        token = self.all[name].command("token", "add", "peer", "--scope", "node").stdout.strip()
        self.tokens[name] = token
        self.apis[name].tokens = {"peer": token}
        self.wait_for_keys(name)

    def wait_for_keys(self, name):
        wait_until(lambda: self.all[name].logged("idempotency keys: all messages in the spool have been read"), 20,
                   f"the keys of {name} to be known")

    def introduce(self, name, to):
        """In the configuration of `name` there is a section for the node `to`."""
        node, api = self.all[name], self.apis[to]
        file = node.folder / f"{to}.token"
        file.write_text(self.tokens[to] + "\n")
        file.chmod(0o600)
        node.config[f"node.{to}"] = {"url": f"http://{api.host}:{api.port}", "token_file": str(file), "timeout": "5s"}

    def end(self):
        for node in self.all.values():
            node.kill_everything()
        for node in self.all.values():
            crashes = node.crashes()
            assert not crashes, "a daemon crashed:\n" + "\n".join(crashes)
            assert not node.denied(), "refused by the confinement:\n" + "\n".join(node.denied())
