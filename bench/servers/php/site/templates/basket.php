<table>
<?php foreach ($lines as $line): ?>
<tr>
  <td><?= $e($line['product']->name) ?></td>
  <td><?= $line['count'] ?></td>
  <td><?= number_format($line['cents'] / 100, 2) ?></td>
  <td><?= $e(implode(', ', $line['alike'])) ?></td>
</tr>
<?php endforeach ?>
<tr><td>Sum</td><td></td><td><?= number_format($cents / 100, 2) ?></td><td>of it tax: <?= number_format($tax / 100, 2) ?></td></tr>
</table>
