"""Per-token log-probabilities and attention of one text."""

import time

from absl import logging

from gpt1_keras import checks
from gpt1_keras import errors
from gpt1_keras import files
from gpt1_keras import results
from gpt1_keras.evaluation import text_view
from gpt1_keras.models import causal_lm
from gpt1_keras.runs import presets
from gpt1_keras.text import subwords


def view(
    *,
    workdir,
    config_sha256,
    preset: checks.Path | None,
    text: str,
    text_file: checks.Path | None,
    layer: int,
    head: checks.Index | None,
):
    """Write `tokens.html`, an attention plot and `result.json`.

    The text, or that of `text_file`, is truncated to the model's positions; the
    head of a fine-tuned model is left out. The plot shows attention `head` of
    `layer`, both from 0 (-1: the last layer), or all heads if `head` is None.
    """
    started = time.monotonic()
    if text_file is not None:
        text = files.read_text("`text_file`", text_file)
        if "\0" in text:
            raise errors.InputError(
                f"`text_file`: {text_file} is binary: give a file of UTF-8 text"
            )
    directory = presets.find(preset)
    model = presets.load(causal_lm.GPT1CausalLM, directory)
    tokenizer = model.preprocessor.tokenizer.pipeline
    ids, positions = tokenizer.encode(text), model.backbone.max_sequence_length
    if not ids:
        raise errors.InputError("no text is given: give `text` or `text_file`")
    if len(ids) > positions:
        logging.warning(f"text truncated to {positions} of {len(ids)} tokens")
        ids = ids[:positions]
    subwords.warn_of_unknown("text", ids.count(subwords.UNKNOWN_ID), len(ids))
    pieces = [tokenizer.piece(index) for index in ids]
    picture = None
    if model.backbone.can_share_prefix:
        picture = _draw(model.backbone, ids, pieces, layer, head, workdir)
        logging.info("attention: %s", workdir / picture)
    else:
        logging.info("this network has no attention to draw")
    values = text_view.log_probabilities(model, ids)
    perplexity = results.perplexity(-values.mean())
    title = f"{len(ids)} tokens, perplexity {perplexity:.1f}"
    shown = text_view.Text(title, text_view.surprise(pieces, values))
    page = workdir / "tokens.html"
    title = f"Log-probability of each token: {directory}"
    text_view.write_page(page, title, text_view.SURPRISE_LEGEND, {"": [shown]})
    logging.info("tokens: %s", page)
    return results.write(
        workdir,
        run="view",
        task="language_model",
        split="text",
        metrics={"perplexity": perplexity},
        num_examples=len(ids),
        config_sha256=config_sha256,
        seconds=time.monotonic() - started,
        preset=str(directory),
        pieces=pieces,
        log_probabilities=[round(value, 4) for value in values.tolist()],
        attention=picture,
    )


def _draw(backbone, ids, pieces, layer, head, workdir):
    """Draw a layer or one of its heads; return the path in the workdir."""
    shares = text_view.attention(backbone, ids)
    name = f"layer {layer % backbone.num_layers}"
    try:
        shares = shares[layer]
        if head is not None:
            name += f" head {head % backbone.num_heads}"
            shares = shares[[head]]
    except IndexError:
        raise errors.InputError(
            f"`layer` {layer} or `head` {head} is out of range: the model"
            f" has {backbone.num_layers} layers of {backbone.num_heads} heads,"
            " counted from 0"
        ) from None
    picture = f"plots/attention_{name.replace(' ', '_')}.png"
    title = f"attention of {name}, counted from 0"
    text_view.draw_attention(shares, pieces, workdir / picture, title=title)
    return picture
