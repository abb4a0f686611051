import {
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  Inject,
  Module,
  UseGuards,
} from '@nestjs/common';
import type { Reporter } from 'security-event-delivery';
import { blockRequest, identify } from 'security-event-delivery/capture';
import { REPORTER, SecurityEventsModule } from 'security-event-delivery/nest';

class AttackGuard implements CanActivate {
  constructor(@Inject(REPORTER) private readonly reporter: Reporter) {}

  canActivate(context: ExecutionContext): boolean {
    const { query } = context.switchToHttp().getRequest();
    identify({ email: 'ada@example.com' }); // from your session
    if (/union select/i.test(query.q)) {
      blockRequest(() => this.reporter.attack({ ruleset: 'sql_injection' }));
    }
    return true;
  }
}

@Controller()
class ShopController {
  @Get('search/:shelf')
  @UseGuards(AttackGuard)
  search(): string {
    return 'nothing found';
  }
}

@Module({
  imports: [
    SecurityEventsModule.forRoot({
      reporter: { service: { svc_id: 'shop-1', name: 'shop', env: 'production' } },
      capture: { trustedProxies: 'loopback' },
    }),
  ],
  controllers: [ShopController],
})
export class AppModule {}
